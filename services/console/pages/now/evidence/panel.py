"""Evidence: the panel beside the timeline, for the match, episode, alert or detection that was chosen last."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from services.console.pages.now.context import NowContext
from services.console.pages.now.evidence.frame import EvidenceFrame
from services.console.pages.now.evidence.of_detection import detection_of, show_detection
from services.console.pages.now.evidence.of_episode import show_episode
from services.console.pages.now.evidence.of_match import show_match
from services.console.pages.shell import Words
from services.console.rest.documents import AlertAnswer
from services.console.rest.evidence_answers import EvidenceAnswer
from services.console.rest.services import RestError


class Evidence:
    """The panel beside the timeline."""

    def __init__(self, view: NowContext) -> None:
        self._view = view
        self._wanted: tuple[str, str] | None = None
        self._turn = asyncio.Lock()
        self._frame = EvidenceFrame(view, self.show, self.close)

    def close(self) -> None:
        """Show nothing."""
        self._wanted = None
        self._frame.panel.set_visibility(False)
        self._choose(None)

    async def show(self, kind: str, id_: str, told: dict[str, Any] | None = None) -> None:
        """Show the evidence of a match, episode, alert or detection: of what was chosen last, however quickly."""
        self._wanted = wanted = kind, id_
        async with self._turn:
            if self._wanted is wanted:
                await self._show(kind, id_, told)
            if self._is_closed():  # meanwhile
                self.close()

    async def renew(self, evidence: Mapping[str, EvidenceAnswer]) -> None:
        """Show anew the match whose evidence has come, by its id."""
        if self._wanted is not None and self._wanted[0] == "match" and self._wanted[1] in evidence:
            await self.show(*self._wanted)

    def _is_closed(self) -> bool:
        return self._wanted is None

    async def _show(self, kind: str, id_: str, told: dict[str, Any] | None) -> None:
        try:
            if kind == "match":
                await show_match(self._frame, id_)
            elif kind == "episode":
                await show_episode(self._frame, id_)
            elif kind == "alert":
                await _show_alert(self._frame, id_)
            else:
                await show_detection(self._frame, told or detection_of(id_))
        except RestError as error:
            with self._frame.begin("Evidence"):
                Words("p", str(error)).props("role=alert")
            return
        self._choose((kind, id_), id_)

    def _choose(self, chosen: tuple[str, str] | None, id_: str | None = None) -> None:
        self._view.shown = replace(self._view.shown, chosen=chosen)
        self._view.timeline.choose(id_)
        self._view.put_address()


async def _show_alert(frame: EvidenceFrame, id_: str) -> None:
    alert, raw = await frame.read(AlertAnswer, "alerts", id_)
    with frame.begin(alert.title):
        Words("p", f"{alert.severity}, {alert.state}, since {frame.view.viewer.times.instant(alert.fired_at_us)}.")
        if alert.kind in ("episode", "match"):
            frame.go(f"Show the {alert.kind} behind it", alert.kind, alert.source)
        frame.ways("alert", id_, raw, alert.fired_at_us, alert.fired_at_us)
