"""What the user asks for, as the command line says it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from coincide.coalescing.equivalences import Equivalence
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


@dataclass(frozen=True)
class CoalesceRequest:
    """What the user asks ``coincide coalesce`` for.

    `facts` names the columns of starts and ends, None where rows are readings; `equivalence` None: any value goes on
    from any other; values count strictly between `limits`.
    """

    path: Path
    by: Sequence[str]
    value_column: str | None
    time_column: str | None
    facts: tuple[str, str] | None
    gap_us: int
    hold_us: int | None
    equivalence: Equivalence | None
    limits: tuple[float, float]
    out: Path | None
    skip_bad: bool
    assume_utc: bool
    values_are_texts: bool

    @property
    def needs_numbers(self) -> bool:
        """Whether it makes no sense of texts."""
        by_equivalence = self.equivalence is not None and self.equivalence.needs_numbers
        return by_equivalence or self.has_limits

    @property
    def has_limits(self) -> bool:
        """Whether some values are left out."""
        return self.limits != (-math.inf, math.inf)
