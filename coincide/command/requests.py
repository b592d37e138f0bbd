"""What the user asks for, as the command line says it, checked."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from coincide.coalescing.equivalences import Equivalence
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window


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


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

LONGEST_S = 1e9  # as far as a template's edges may reach; 31 years


def filled(text: str) -> str:
    """Return `text`, refused if empty."""
    if not text:
        raise argparse.ArgumentTypeError("empty")
    return text


def out_path(text: str) -> Path | None:
    """Return the path; None is standard output."""
    return None if text == "-" else Path(text)


def number(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text!r}: a finite number")
    return value


def tolerance_us(text: str) -> int:
    """Return seconds, 0 or more, as whole microseconds."""
    return _microseconds(text, 0, f"seconds, from 0 to {LONGEST_S:g}")


def lasting_us(text: str) -> int:
    """Return seconds, at least a microsecond, as whole microseconds."""
    return _microseconds(text, 1, f"seconds, from 1e-6 to {LONGEST_S:g}")


def _microseconds(text: str, least: int, allowed: str) -> int:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= LONGEST_S or round(seconds * 1e6) < least:
        raise argparse.ArgumentTypeError(f"{text!r}: {allowed}")
    return round(seconds * 1e6)
