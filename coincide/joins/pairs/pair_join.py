"""timing_join: the exact join of two batches, the default of all timing joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import PositionArray
from coincide.arrays.range_expansion import expanded_range_blocks, expanded_ranges, pairs_in
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.window import Window, checked_threshold, checked_window
from coincide.joins.answers import Pairs, PairsOfRows
from coincide.joins.detections import Detections, checked_batch
from coincide.joins.events import Events, is_in_order, positions_in, sorted_batches
from coincide.joins.labels import effective_rule
from coincide.joins.pairs.matching import Block, Probe, candidates, matching_pairs_among
from coincide.joins.probe_bounds import ProbeBounds
from coincide.joins.progress import Progress, checked_progress, unheard
from coincide.offsets.cache import OffsetCache, judge_of
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits, mean_evaluation_work, table_work
from coincide.offsets.ranges import NEVER_HI_US
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.templates.codes import TemplatesInOrder

DENSE = 4  # pairs a row
SPARE = 1.1  # room for more pairs than expected
GREATEST_LEAP = 256  # times what is in hand: a dense beginning must not ask for more memory than there is
PROBING_ROWS = 32_768
TABLE_PAIRS = 262_144  # 12 MB; where there are more events than that, as many pairs as events

CountedBlock = tuple[int, int, Block]  # pairs, and the positions that their rows and stored rows are counted from


class _Part(NamedTuple):
    """Some probing rows, the stored rows around them, and the candidates start : stop of each among those."""

    first: int
    first_stored: int
    probe: Probe
    start: PositionArray
    stop: PositionArray

    @property
    def pairs(self) -> int:
        return pairs_in(self.start, self.stop)


class _PairColumns:
    """Pairs in the order of their probing rows, with room for as many as the rows so far let one expect.

    Memory that is not written costs nothing; copying columns again and again costs as much as the join.
    """

    def __init__(self, probing_rows: int) -> None:
        self._probing_rows = probing_rows
        self._rows, self._at = np.empty(0, np.intp), np.empty(0, np.intp)
        self._size = 0

    def append(self, rows: PositionArray, first_row: int, at: PositionArray, first_at: int) -> None:
        """Add pairs (probing row, stored row), each counted from its first; rows never fall."""
        if len(rows) == 0:
            return
        start, self._size = self._size, self._size + len(rows)
        if self._size > len(self._rows):
            expected = self._size * self._probing_rows / (first_row + int(rows[-1]) + 1)
            capacity = int(SPARE * min(expected, GREATEST_LEAP * self._size)) + 1
            self._rows, self._at = (_enlarged(column, start, capacity) for column in (self._rows, self._at))
        np.add(rows, first_row, out=self._rows[start : self._size])
        np.add(at, first_at, out=self._at[start : self._size])

    def columns(self) -> Block:
        """Return all probing rows and all stored rows."""
        return self._rows[: self._size], self._at[: self._size]


def _enlarged(column: PositionArray, size: int, capacity: int) -> PositionArray:
    larger = np.empty(capacity, np.intp)
    larger[:size] = column[:size]
    return larger


def _sorted_inside(
    rows: PositionArray, at: npt.NDArray[np.int64] | npt.NDArray[np.int32], count: int
) -> tuple[PositionArray, npt.NDArray[Any]]:
    """Sort the pairs of each row by `at`, of which every one is below `count`; `rows` never falls."""
    if len(rows) == 0:
        return rows, at
    bits = count.bit_length()
    fits_32_bits = int(rows[-1] - rows[0]).bit_length() + bits < 32
    keys = (rows - rows[0]).astype(np.int32 if fits_32_bits else np.int64)  # narrow numbers sort twice as fast
    keys <<= bits
    keys |= at.astype(keys.dtype, copy=False)
    keys.sort()
    keys &= (1 << bits) - 1
    return rows, keys


@dataclass(frozen=True, eq=False)
class BatchJoin:
    """Two sorted batches and the search of the kernel; `as_given` are the events of a in their order."""

    a: Detections
    b: Detections
    window: Window
    probe: Probe
    as_given: Events
    is_self_join: bool
    progress: Progress = unheard

    @classmethod
    def of(
        cls,
        a: Detections,
        b: Detections | None,
        window: Window,
        threshold: float,
        sensors: SensorRule,
        limits: PairLimits = USUAL_LIMITS,
    ) -> BatchJoin:
        """Judge the templates, by a table or as pairs meet: whichever is less work."""
        checked_window(window)
        threshold = checked_threshold(threshold)
        checked_batch("a", a)
        partner = a if b is None else checked_batch("b", b)
        us, vs = a.templates, partner.templates
        as_given, events, others = sorted_batches(a, b)
        rule = effective_rule(checked_sensor_rule(sensors), events.sensor, others.sensor)
        unordered = b is None and window.is_symmetric
        least_us = 0 if unordered else NEVER_HI_US
        judge = judge_of(window, threshold, TemplatesInOrder(us), TemplatesInOrder(vs), limits)
        probe = Probe(events, others, ProbeBounds.of_a(judge, least_us), rule)
        join = cls(a, partner, window, probe, as_given, b is None)
        may_have_table = limits.table > 0 and len(us) * len(vs) <= max(TABLE_PAIRS, len(a) + len(partner))
        if isinstance(judge, OffsetCache) and may_have_table and table_work(us, vs, window) <= join.evaluation_work():
            bounds = ProbeBounds.of_a(SatisfactionTable.build(us, vs, window, threshold), least_us)
            return replace(join, probe=replace(probe, bounds=bounds))
        return join

    @classmethod
    def judged(
        cls, a: Detections, b: Detections | None, judge: SatisfactionTable | OffsetCache, sensors: SensorRule
    ) -> BatchJoin:
        """Join by a judge of all their templates, whose window is symmetric and the longest of all."""
        as_given, events, others = sorted_batches(a, b)
        rule = effective_rule(checked_sensor_rule(sensors), events.sensor, others.sensor)
        bounds = ProbeBounds.of_a(judge, 0 if b is None else NEVER_HI_US)
        return cls(a, a if b is None else b, judge.window, Probe(events, others, bounds, rule), as_given, b is None)

    def evaluation_work(self) -> float:
        """Work of evaluating every pair of events that can meet: a table pays where it is no more."""
        meeting = sum(part.pairs for part in self._parts())
        return meeting * mean_evaluation_work(self.a.templates, self.b.templates)

    def blocks(self) -> Iterator[Block]:
        """Positions in the batches as they were given."""
        for first, offset, (rows, at) in self._sorted_blocks(self._parts()):
            if first or offset:
                rows, at = rows + first, at + offset  # noqa: PLW2901 - counted from the beginning
            yield positions_in(self.probe.events, rows), positions_in(self.probe.stored, at)

    def columns(self) -> Block:
        """All of `blocks`, by the position in a, then in b."""
        if not (is_in_order(self.probe.events) and is_in_order(self.probe.stored)):
            return self._in_columns(self._given_blocks())
        parts = self._parts()
        begun = list(islice(parts, 1))
        parts = chain(begun, parts)
        if begun and self._is_dense(begun[0]):
            return expanded_ranges(*self._ranges(parts))
        return self._in_columns(self._sorted_blocks(parts))

    @property
    def _is_unordered(self) -> bool:
        """Whether two events are a pair once, whichever comes first."""
        return self.is_self_join and self.window.is_symmetric

    @property
    def _is_tested(self) -> bool:
        """Whether some candidates may not match."""
        return self.probe.is_tested or (self.is_self_join and not self._is_unordered)

    def _is_dense(self, part: _Part) -> bool:
        """Whether all candidates match, and so many that it pays to find all ranges before writing the first pair."""
        return not self._is_tested and part.pairs >= DENSE * len(part.start)

    def _in_columns(self, blocks: Iterable[CountedBlock]) -> Block:
        pairs = _PairColumns(len(self.probe.events))
        for first, offset, (rows, at) in blocks:
            pairs.append(rows, first, at, offset)
        return pairs.columns()

    def pairs(self, left: PositionArray, right: PositionArray) -> Pairs:
        """Return pairs of positions in the batches; their probabilities are computed when first asked for."""
        return Pairs(left, right, PairsOfRows(self.a.without_labels, self.b.without_labels, left, right, self.window))

    def _sorted_blocks(self, parts: Iterable[_Part]) -> Iterator[CountedBlock]:
        """Positions in the sorted events."""
        for first, first_stored, probe, start, stop in parts:
            if not self._is_tested:
                blocks = expanded_range_blocks(start + first_stored, stop + first_stored, first)
                yield from ((0, 0, block) for block in blocks)
                continue
            for block in matching_pairs_among(probe, start, stop):
                yield first, first_stored, self._apart(block, first_stored - first)

    def _given_blocks(self) -> Iterator[CountedBlock]:
        """Positions in the batches, row by row as they were given: only the pairs of each row are left to sort."""
        start, stop = self._ranges(self._parts())
        stored = self.probe.stored
        position = positions_in(stored, np.arange(len(stored)))
        position = position.astype(np.int32) if len(stored) < 2**31 else position  # faster to look up
        for rows_of, at in matching_pairs_among(replace(self.probe, events=self.as_given), start, stop):
            yield 0, 0, self._apart(_sorted_inside(rows_of, position.take(at), len(position)), 0)

    def _ranges(self, parts: Iterable[_Part]) -> tuple[PositionArray, PositionArray]:
        """Candidates start : stop of each row as it was given, among the sorted rows of b."""
        rows = len(self.as_given)
        start, stop = np.zeros(rows, np.intp), np.zeros(rows, np.intp)
        events = self.probe.events
        for part in parts:
            at: slice | PositionArray = slice(part.first, part.first + len(part.probe.events))
            at = at if is_in_order(events) else events.ref[at]
            start[at], stop[at] = part.start + part.first_stored, part.stop + part.first_stored
        return start, stop

    def _parts(self) -> Iterator[_Part]:
        """Yield candidates part by part, so that every array in between fits in a core's cache."""
        for first in range(0, len(self.probe.events), PROBING_ROWS):
            self.progress(first / len(self.probe.events))
            probe, first_stored = self.probe.part(first, first + PROBING_ROWS)
            if len(probe.stored) == 0:
                continue
            start, stop = candidates(probe)
            if self._is_unordered:
                after_itself = np.arange(first + 1 - first_stored, first + 1 - first_stored + len(start))
                start = np.maximum(start, after_itself)
            yield _Part(first, first_stored, probe, start, stop)
        self.progress(1.0)

    def _apart(self, block: Block, shift: int) -> Block:
        """Leave out the pair of an event with itself, whose stored row plus `shift` is its own row."""
        if not self.is_self_join or self._is_unordered:
            return block
        rows, at = block
        apart = at + shift != rows
        return rows[apart], at[apart]


def timing_join(
    a: Detections,
    b: Detections | None,
    window: Window,
    threshold: float,
    sensors: SensorRule = "different",
    *,
    progress: Progress | None = None,
) -> Pairs:
    """Pairs with P(lo <= Xb - Xa <= hi) >= threshold.

    Sorted searches find the range of partners of each event; only where templates are mixed are pairs tested.

    Parameters
    ----------
    a, b : Detections
        Rows in any order; time-ordered ones are faster. `b` None joins `a` with itself: with a symmetric window
        each pair of rows counts once, the one that comes first by (detected_at, sensor, id, position) is on the
        left; with another window both orientations are tried.
    window : Window
        Closed at both ends, a deadline or a delay.
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
        Which sensors the two events may come from. Detections without a sensor differ from all others.
    progress : callable, optional
        Called now and then with the share of the rows of `a` that have been looked at, from 0 to 1.

    Returns
    -------
    Pairs
        Positions of the rows in `a` and `b`, int64, sorted by left, then right.

    Raises
    ------
    CoincideError
        A window, threshold or rule that does not exist, batches that do not fit each other, or templates of hundreds
        of buckets that would take minutes (see `satisfaction_offsets`).

    Examples
    --------
    >>> from coincide.templates.histogram import Histogram
    >>> imb = Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)])
    >>> baksan = Detections([71_818_000], [Histogram.uniform(-54, 2)])
    >>> pairs = timing_join(imb, baksan, Window(10), threshold=0.3)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.probability.round(4).tolist()
    ([0], [0], [0.3571])
    """
    heard = checked_progress(progress)
    join = replace(BatchJoin.of(a, b, window, threshold, sensors), progress=heard)
    return join.pairs(*join.columns())


def timing_join_blocks(
    a: Detections,
    b: Detections | None,
    window: Window,
    threshold: float,
    sensors: SensorRule = "different",
    *,
    progress: Progress | None = None,
) -> Iterator[Pairs]:
    """`timing_join` in parts of about 64k pairs, for answers that need not fit in memory.

    Parameters are those of `timing_join`. Parts come in the order of the left row's area and time.
    """
    heard = checked_progress(progress)
    join = replace(BatchJoin.of(a, b, window, threshold, sensors), progress=heard)
    return (join.pairs(*block) for block in join.blocks())
