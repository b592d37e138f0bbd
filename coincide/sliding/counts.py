"""What an extent answers, and what is counted of readings that come and of scans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from coincide.sliding.readings import Readings, Ref
from coincide.temporal.facts import Facts


class RunReadings(NamedTuple):
    """The readings of a group that hold in an interval inside one of its runs."""

    readings: int  # how many they are
    value: float  # of the first of them
    newest: Ref  # the last of them


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

    def readings_in(self, group: int, start_us: int, end_us: int) -> RunReadings:
        """Return the readings of a group that hold in an interval inside one of its runs."""


@dataclass
class ArrivalCounts:
    """How many readings arrived, and how many of them after a later one of their group."""

    readings: float = 0.0
    late: float = 0.0

    @property
    def out_of_order(self) -> float:
        """The paper's oop: the share of readings that come out of order."""
        return self.late / self.readings if self.readings else 0.0

    def halve(self) -> None:
        """Let what comes count twice as much as what came, so that drifts show."""
        self.readings, self.late = self.readings / 2, self.late / 2


@dataclass
class ScanCounts:
    """What the scans of one rule met, in sum."""

    scans: float = 0.0
    readings: float = 0.0
    groups: float = 0.0
    runs: float = 0.0

    def add(self, scan: Scan) -> None:
        """Count a scan."""
        self.scans += 1
        self.readings += scan.readings
        self.groups += scan.groups
        self.runs += scan.runs_in_all

    @property
    def coalesced(self) -> float:
        """The paper's cp: the share of readings that coalesce with the one before them, of those that have one."""
        following = self.readings - self.groups
        return (self.readings - self.runs) / following if following > 0 else 0.0

    def halve(self) -> None:
        """Let what comes count twice as much as what came."""
        self.scans, self.readings = self.scans / 2, self.readings / 2
        self.groups, self.runs = self.groups / 2, self.runs / 2
