"""Past: where runs read, within which bounds, and who does what takes long."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from coincide.fusion.control.limits import Limits
from services.history.replaying.staff import Others
from services.history.rows.topic_records import Topics
from services.history.settings import RunSettings


@dataclass(frozen=True)
class Past:
    """What runs stand on, which each host of them has in its own way."""

    settings: RunSettings
    topics: Topics
    limits: Callable[[], Limits]  # of the engine: a run as live has them
    others: Callable[[Path], AbstractContextManager[Others]] | None = None  # given a folder for what they write
