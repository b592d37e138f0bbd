"""What the user asks for, as the command line says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.timing_join.sensor_rule import SensorRule
from coincide.window import Window


@dataclass(frozen=True)
class InputFile:
    """One of the files: its path, its time column (None: the usual ones) and its uncertainty as the user wrote it."""

    path: Path
    time_column: str | None
    uncertainty: str | None


@dataclass(frozen=True)
class JoinRequest:
    """What the user asks for; one input is joined with itself."""

    inputs: Sequence[InputFile]
    window: Window
    threshold: float
    sensors: SensorRule
    templates: Path | None
    out: Path | None
    skip_bad: bool
    assume_utc: bool

    @property
    def is_self_join(self) -> bool:
        """Whether there is one file only."""
        return len(self.inputs) == 1
