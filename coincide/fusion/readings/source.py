"""ReadingSource: the readings of one stream for the queries that read alike, area by area."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from coincide.arrays.kinds import Int64Array
from coincide.fusion.control.control import ActiveReadings
from coincide.fusion.readings.reading_columns import ReadingColumns
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns
from coincide.joins.search.work import SearchWork
from coincide.queries import ReadingsQuery
from coincide.sliding.choice import SchemeChoice
from coincide.sliding.counts import ArrivalCounts, ScanCounts, SlidingExtent
from coincide.sliding.extents import SharedExtents
from coincide.sliding.questions import Answers, answers
from coincide.sliding.rules import RunRule, windows_due

Choose = Callable[[ArrivalCounts, Sequence[ScanCounts], Sequence[SchemeChoice]], list[SchemeChoice]]

SPARE_CODES = 1024
MANY_READINGS = 1024  # once so many were counted, and so many scans, the older half fades
MANY_SCANS = 8


@dataclass(frozen=True)
class SourceKey:
    """What queries must have in common to share readings."""

    stream: str
    by: tuple[str, ...]
    value: str
    is_number: bool
    activation_seq: int

    @classmethod
    def of(cls, active: ActiveReadings) -> SourceKey:
        """Return that of a query in force."""
        query = active.query
        return cls(query.stream, query.by, query.value, query.reads_numbers, active.activation_seq)


@dataclass
class _RuleState:
    """How a rule is coalesced, and what its scans met."""

    choice: SchemeChoice = field(default_factory=SchemeChoice)
    scanned: ScanCounts = field(default_factory=ScanCounts)


class ReadingSource:
    """Readings from an activation on, for one rule or more; how it keeps them changes no answer."""

    def __init__(self, key: SourceKey, stream: int, areas: Areas) -> None:
        self._key = key
        self._stream = stream
        self._areas = areas
        self._rules: dict[RunRule, _RuleState] = {}
        self._measured = ArrivalCounts()
        self._was_scanned = False
        self.no_number: set[int] = set()  # sequence numbers of the rows last taken whose value is no number
        self._columns = self._no_columns()
        self._extents: dict[int, SharedExtents] = {}

    def rebuild(self, kept: EventColumns, rules: Collection[RunRule]) -> None:
        """Hold exactly the readings among these rows, for these rules; what was measured stays."""
        self._rules = {rule: self._rules.get(rule) or _RuleState() for rule in rules}
        self._columns, self._extents = self._no_columns(), {}
        self._insert(kept)

    def take(self, new: EventColumns) -> None:
        """Take the readings among new rows."""
        readings, late = self._insert(new)
        self._measured.readings += readings
        self._measured.late += late

    def has_rules(self, rules: Collection[RunRule]) -> bool:
        """Whether it is kept for these rules."""
        return self._rules.keys() == set(rules)

    def areas(self) -> tuple[Int64Array, Int64Array]:
        """Return the codes of the areas that readings came from, and the latest one's time: int64 (n,)."""
        latest_us = [extents.latest_us for extents in self._extents.values()]
        return np.array(list(self._extents), np.int64), np.array(latest_us, np.int64)

    def answer(
        self, query: ReadingsQuery, area: int, after_us: int, until_us: int, work: SearchWork
    ) -> tuple[Iterator[Answers], SlidingExtent, ReadingColumns]:
        """Return what a query says of the windows of an area that end in (after, until], and where to look it up.

        The answers come in blocks of windows.
        """
        extent, rule = self._extents[area].of(query.rule), query.rule
        scan = extent.scan()
        self._rules[rule].scanned.add(scan)
        self._was_scanned = True
        windows = windows_due(scan.runs.intervals, after_us, until_us, query.time_us, query.slide_us)
        blocks = (answers(query.question, scan.runs, each, rule, work) for each in windows)
        return chain.from_iterable(blocks), extent, self._columns

    def choice(self, rule: RunRule) -> SchemeChoice:
        """Return how a rule is coalesced."""
        return self._rules[rule].choice

    def decide(self, choose: Choose) -> None:
        """If it was scanned since the last decision, choose how each rule is coalesced from now on."""
        if not self._was_scanned:
            return
        self._was_scanned = False
        states = list(self._rules.values())
        before = self._eager()
        choices = choose(self._measured, [each.scanned for each in states], [each.choice for each in states])
        for state, choice in zip(states, choices, strict=True):
            state.choice = choice
        self._fade()
        eager = self._eager()
        if eager != before:
            self._extents = {area: extents.switched(eager) for area, extents in self._extents.items()}

    def drop_before(self, us: Mapping[int, int], kept: EventColumns) -> None:
        """Forget the readings of each area before an instant, and all codes if most of them are of none any more."""
        for area, extents in self._extents.items():
            extents.drop_before(us[area])
        if len(self._columns) > SPARE_CODES + 2 * np.count_nonzero(kept.stream == self._stream):
            self.rebuild(kept, list(self._rules))

    def _insert(self, rows: EventColumns) -> tuple[int, int]:
        """Take the readings among these rows; return how many there are, and how many came out of order."""
        ours = np.flatnonzero((rows.stream == self._stream) & (rows.seq >= self._key.activation_seq))
        ours = ours[np.argsort(rows.area[ours], kind="stable")]
        count = late = 0
        self.no_number = set()
        for at in np.split(ours, np.flatnonzero(np.diff(rows.area[ours])) + 1):
            if len(at) == 0:
                continue
            area, (readings, _, no_number) = int(rows.area[at[0]]), self._columns.read(rows, at, self._areas)
            self.no_number.update(rows.seq[no_number].tolist())
            if area not in self._extents:
                self._extents[area] = SharedExtents(self._eager())
            count += len(readings)
            late += self._extents[area].add(readings)
        return count, late

    def _eager(self) -> dict[RunRule, bool]:
        return {rule: state.choice.scheme == "eager" for rule, state in self._rules.items()}

    def _fade(self) -> None:
        scanned = [state.scanned for state in self._rules.values()]
        if self._measured.readings >= MANY_READINGS and max(each.scans for each in scanned) >= MANY_SCANS:
            self._measured.halve()
            for each in scanned:
                each.halve()

    def _no_columns(self) -> ReadingColumns:
        return ReadingColumns(self._key.by, self._key.value, is_number=self._key.is_number)
