"""TwoWays: readings kept in the way that suits how they arrive, one by one or in frames of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from coincide.changes import Changes
from coincide.coalescing.frame import Frame
from coincide.coalescing.runs import Runs

SINGLE_US, COLUMNAR_US, FRAME_US = 5.0, 0.2, 250.0  # a reading by itself, one in a frame, and a frame: roughly


class Held(Protocol):
    """The readings of an extent."""

    def __len__(self) -> int: ...
    def push(self, frame: Frame) -> Changes[Runs]: ...  # noqa: D102
    def readings(self) -> Frame: ...  # noqa: D102


Single = TypeVar("Single", bound=Held)
Columnar = TypeVar("Columnar", bound=Held)


class TwoWays(Generic[Single, Columnar]):
    """Goes over to the other way once that would have saved more than it costs to go over.

    So whatever comes costs at most about twice what the better way would have cost all along.
    """

    def __init__(self, single: Callable[[], Single], columnar: Callable[[], Columnar]) -> None:
        self._columnar = columnar
        self._single = single
        self._is_columnar = False
        self._lost_us = 0.0  # what the other way would have saved
        self.held: Single | Columnar = single()

    def suited_for_one(self) -> Single | Columnar:
        """Return ``suited(1)``, faster."""
        return self.suited(1) if self._is_columnar or self._lost_us else self.held

    def suited(self, rows: int) -> Single | Columnar:
        """Return the readings, kept in the way that seems best for frames of so many rows."""
        saved_us = FRAME_US + (COLUMNAR_US - SINGLE_US) * rows
        self._lost_us = max(0.0, self._lost_us + (saved_us if self._is_columnar else -saved_us))
        if self._lost_us > SINGLE_US * len(self.held):
            other = self._single() if self._is_columnar else self._columnar()
            other.push(self.held.readings())
            self.held, self._is_columnar, self._lost_us = other, not self._is_columnar, 0.0
        return self.held
