"""What the parts of *Now* ask of the page that they are on; the page gives it."""

from __future__ import annotations

from typing import Any, Protocol

from services.console.drawing.timeline import TimelineElement
from services.console.pages.now.history_of_range import KeptThings
from services.console.pages.shown_range import ShownRange
from services.console.pages.viewer import Viewer
from services.console.rest.documents import SensorAnswer


class NowContext(Protocol):
    """One open page, as its parts see it."""

    viewer: Viewer
    sensors: list[SensorAnswer]
    has_more_sensors: bool
    queries: list[str]
    shown: ShownRange
    kept: KeptThings
    is_paused: bool
    timeline: TimelineElement

    async def load(self) -> None:
        """Draw what the services keep of the range that is shown."""

    async def load_lanes(self) -> None:
        """Give the sensors of the chosen area their lanes, where not all have one."""

    def on_follow(self, follows: bool) -> None:
        """Take over whether the page follows the present."""

    def put_address(self) -> None:
        """Have the address lead to what is shown."""

    async def show_evidence(self, kind: str, id_: str, told: dict[str, Any] | None = None) -> None:
        """Show the evidence of what was chosen."""
