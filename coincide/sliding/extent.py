"""SlidingExtent: what a scheme keeps of the readings of one area, and what it can say of them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from coincide.sliding.readings import Readings, Ref
from coincide.temporal.facts import Facts


class Held(NamedTuple):
    """What a group held over an interval inside one of its runs.

    So many readings hold in it; `value` is that of the first of them, `newest` the last of them.
    """

    readings: int
    value: float
    newest: Ref


class Scan(NamedTuple):
    """The runs of an extent that interest, and of how many readings, groups and runs in all they were found."""

    runs: Facts
    readings: int
    groups: int
    runs_in_all: int


class SlidingExtent(Protocol):
    """The readings of one area under one rule, coalesced now or later."""

    def add(self, readings: Readings) -> None:
        """Take readings in any order."""

    def drop_before(self, us: int) -> None:
        """Forget the readings before an instant."""

    def scan(self) -> Scan:
        """Return the runs that interest as facts, by (group, start); a group's newest reading holds as long as it may.

        Cut to a window they are the runs of that window, whatever came after its end.
        """

    def held(self, group: int, start_us: int, end_us: int) -> Held:
        """Return what a group held over an interval inside one of its runs."""
