"""Engine: any number of joins over shared buffers, installed and changed while events flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.changes import Changes
from coincide.arrays.kinds import BoolArray
from coincide.arrays.numbers import is_whole
from coincide.constraints.conditions import JoinCondition
from coincide.errors import CandidateLimitError, CoincideError, DetectionsError, StreamError
from coincide.joins.detections import Detections, checked_batch
from coincide.joins.events import Events
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.joins.stream_buffers import BuffersState, SourceName, StreamBuffers
from coincide.live.answer_blocks import AnswerBlocks
from coincide.live.batch_intake import AcceptedRows, BatchIntake, IntakeState
from coincide.live.installed import (
    Answer,
    InstalledPairs,
    InstalledQuery,
    InstalledTuples,
    WindowCondition,
    farthest_us,
)
from coincide.live.row_labels import RowLabels
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits, checked_pair_limits
from coincide.stream import Stream, checked_stream

Condition = JoinCondition | WindowCondition
RowsOfSources = Mapping[str, npt.ArrayLike]


@dataclass
class QueryState:
    """A query in force; events before row `since` do not count."""

    condition: Condition
    since: int
    is_paused: bool = False


@dataclass(frozen=True, eq=False)
class EngineState:
    """What an engine saves."""

    streams: Mapping[str, Stream]
    sources: Mapping[str, str]
    max_buffered: int | None
    pair_limits: PairLimits
    intake: IntakeState
    buffers: BuffersState
    queries: Mapping[str, QueryState]
    dropped: int
    suspended: Mapping[str, CandidateLimitError]


class Engine:
    """Any number of joins over the same streams, as their events come in.

    Each event is buffered once, whatever the number of queries. A query counts events from its installation on: for
    these, its answer is that of `TimingJoin` or `WindowJoin`. No query changes the answer of another.

    Parameters
    ----------
    streams : iterable of Stream
    sources : mapping of str to str, optional
        Names of parts of streams, and the stream of each. A query may name a source in place of a stream; each batch
        then says which of its rows are of the source. Sources of one stream may overlap.
    keyed : bool
        Whether every batch comes with keys; then only events with equal keys meet in a window join.
    max_buffered : int, optional
        Hard bound on the events kept of each stream, as in `TimingJoin`.
    pair_limits : PairLimits

    Attributes
    ----------
    dropped : int
        Events that `max_buffered` dropped while they might still have found partners.
    suspended : dict of CandidateLimitError
        Queries that are paused because one row had too many candidates, and why. Such a query has no answer to that
        batch; the answers of all others are complete.

    Examples
    --------
    >>> from coincide.constraints.graph import ConstraintGraph
    >>> from coincide.constraints.window import Window
    >>> from coincide.templates.histogram import Histogram
    >>> engine = Engine([Stream(name, longest_template_s=0) for name in ("seismic", "acoustic")])
    >>> engine.install("near", JoinCondition("seismic", "acoustic", Window(5), 1.0))
    >>> engine.install("nearer", JoinCondition("seismic", "acoustic", Window(1), 1.0))
    >>> clock = [Histogram.point()]
    >>> _ = engine.push("seismic", Detections([10_000_000], clock, id=["s1"]))
    >>> changes = engine.push("acoustic", Detections([12_000_000], clock, id=["a1"]))
    >>> {name: each.insert for name, each in changes.items()}
    {'near': Pairs(1: ('s1', 'a1')), 'nearer': Pairs(0)}
    """

    def __init__(
        self,
        streams: Iterable[Stream],
        *,
        sources: Mapping[str, str] | None = None,
        keyed: bool = False,
        max_buffered: int | None = None,
        pair_limits: PairLimits = USUAL_LIMITS,
        orders_ties: bool = True,
    ) -> None:
        if max_buffered is not None and (not is_whole(max_buffered) or max_buffered < 1):
            raise StreamError("max_buffered", max_buffered, "a whole number of events, at least 1, or None")
        self._streams = {checked_stream("streams", stream).name: stream for stream in streams}
        self._intake = BatchIntake(self._streams, RowLabels(orders_ties=orders_ties, is_keyed=keyed))
        self._sources = dict(sources or {})
        self._places = self._streams | {name: self._stream_of(name) for name in self._sources}  # what has a buffer
        self._buffers = StreamBuffers(self._places)
        self._limits, self._max_buffered = checked_pair_limits(pair_limits), max_buffered
        self._in_force: dict[str, QueryState] = {}
        self._queries: dict[str, InstalledQuery] = {}
        self._has_unread = False
        self.dropped = 0
        self.suspended: dict[str, CandidateLimitError] = {}

    @property
    def state(self) -> EngineState:
        """A copy of all that the later answers depend on: of the events that are buffered, and of the queries."""
        self._refuse_unread()
        queries = {name: copy(query) for name, query in self._in_force.items()}
        fixed = self._streams, self._sources, self._max_buffered, self._limits
        return EngineState(*fixed, self._intake.state, self._buffers.state, queries, self.dropped, dict(self.suspended))

    @classmethod
    def restore(cls, state: EngineState) -> Engine:
        """Return an engine that goes on from a state: each later answer is the same, bit for bit."""
        bounds: dict[str, Any] = {"max_buffered": state.max_buffered, "pair_limits": state.pair_limits}
        engine = cls(state.streams.values(), sources=state.sources, **bounds)
        engine._intake = BatchIntake.restore(engine._streams, state.intake)
        engine._buffers = StreamBuffers.restore(state.buffers)
        engine.dropped = state.dropped
        for name, query in state.queries.items():
            engine._put(name, copy(query))
        engine.suspended = dict(state.suspended)
        return engine

    def install(self, name: str, condition: Condition) -> None:
        """Let a query answer from the next batch on; one of the same name gives way to it.

        Raises
        ------
        CoincideError
            A condition that names another stream than those of the engine, or that cannot be used in a stream.
        """
        if not isinstance(condition, JoinCondition | WindowCondition):
            raise CoincideError("condition", condition, "a JoinCondition or a WindowCondition")
        self._put(name, QueryState(condition, self._intake.rows))

    def remove(self, name: str) -> None:
        """Forget a query, if there is one of that name; what only it needed goes with the next eviction."""
        self._in_force.pop(name, None)
        self._queries.pop(name, None)
        self.suspended.pop(name, None)

    def pause(self, name: str) -> None:
        """Let a query give no answers; events that come meanwhile count once it is resumed."""
        self._known(name).is_paused = True

    def resume(self, name: str) -> None:
        """Let a paused or suspended query answer again, from the next batch on."""
        self._known(name).is_paused = False
        self.suspended.pop(name, None)

    @property
    def queries(self) -> tuple[str, ...]:
        """Names of the installed queries."""
        return tuple(self._queries)

    def push(
        self,
        stream: str | npt.ArrayLike,
        detections: Detections,
        key: npt.ArrayLike | None = None,
        sources: RowsOfSources | None = None,
    ) -> dict[str, Changes[Answer]]:
        """Take a batch in; return what it changes in the answer of each query.

        Parameters
        ----------
        stream : str, or array_like of str, shape (n,)
            The stream of all rows, or of each. Time goes on row by row, whatever their streams.
        detections : Detections
            Rows in the order of arrival. All batches give ids (unique ones), or none does.
        key : array_like, shape (n,), optional
            One label a row, integers or strings, if the engine is keyed.
        sources : mapping of str to array_like of bool, shape (n,), optional
            Which rows are of each source; those of another stream than the source's do not count. No row is of a source
            that is left out.

        Returns
        -------
        dict of Changes
            By the name of the query, those of other streams too: pairs or tuples by id, or by the number of the row
            over all batches pushed so far, and which rows came late.

        Raises
        ------
        CoincideError
            A stream not named at the start, a template longer than its stream declares, labels of another kind than
            before, keys missing or in vain, sensors missing where the rule is "same". Nothing has been taken in then.
        """
        accepted, new = self._taken_in(stream, detections, key, sources)
        changed = {name: self._changes(name, query, new) for name, query in self._queries.items()}
        self._make_room(new)
        return {name: Changes(*changes, accepted.late, accepted.late_by_us) for name, changes in changed.items()}

    def push_blocks(
        self,
        stream: str | npt.ArrayLike,
        detections: Detections,
        key: npt.ArrayLike | None = None,
        sources: RowsOfSources | None = None,
    ) -> AnswerBlocks[tuple[str, Changes[Answer]]]:
        """`push` in parts, for answers that need not fit in memory: blocks of one query after the other, by its name.

        The batch is taken in at once. Each query has a block at least, and the rows that came late are in its first. A
        block has about 64k candidates, or as many as one event makes. Until all are read or the iterator is closed or
        dropped, the engine refuses whatever would change its buffers. A query that is suspended has no further blocks.
        """
        accepted, new = self._taken_in(stream, detections, key, sources)
        self._has_unread = True

        def end() -> None:
            self._has_unread = False
            self._make_room(new)

        return AnswerBlocks(self._blocks(accepted, new), end)

    def _blocks(
        self, accepted: AcceptedRows, new: Mapping[SourceName, Events]
    ) -> Iterator[tuple[str, Changes[Answer]]]:
        for name, query in list(self._queries.items()):
            late = accepted.late, accepted.late_by_us
            for changes in self._change_blocks(name, query, new):
                yield name, Changes(*changes, *late)
                late = accepted.late[:0], accepted.late_by_us[:0]

    def _change_blocks(
        self, name: str, query: InstalledQuery, new: Mapping[SourceName, Events]
    ) -> Iterator[tuple[Answer, Answer]]:
        is_first = True
        if name in self._in_force and not self._in_force[name].is_paused:
            try:
                for changes in query.change_blocks(new):
                    yield changes
                    is_first = False
            except CandidateLimitError as error:
                self._in_force[name].is_paused, self.suspended[name] = True, error
        if is_first:
            yield query.nothing(), query.nothing()

    def _taken_in(
        self,
        stream: str | npt.ArrayLike,
        detections: Detections,
        key: npt.ArrayLike | None,
        sources: RowsOfSources | None,
    ) -> tuple[AcceptedRows, Mapping[SourceName, Events]]:
        self._refuse_unread()
        masks = self._checked_sources(sources or {}, len(checked_batch("detections", detections)))
        accepted = self._intake.take(stream, detections, key, needs_sensors=self._needs_sensors)
        rows = dict(accepted.on_time)
        for name, mask in masks.items():
            if (whole := accepted.on_time.get(self._sources[name])) is not None:
                rows[name] = whole.take(np.flatnonzero(mask[whole.ref - accepted.first]))
        new = {name: self._buffers.coded(name, events, detections.templates) for name, events in rows.items()}
        for name, events in new.items():
            self._buffers.insert(name, events)
        return accepted, new

    def _checked_sources(self, sources: RowsOfSources, rows: int) -> dict[str, BoolArray]:
        masks = {name: np.asarray(mask) for name, mask in sources.items()}
        for name, mask in masks.items():
            if name not in self._sources:
                raise DetectionsError("sources", name, f"one of {sorted(self._sources)}")
            if mask.shape != (rows,) or mask.dtype != np.bool_:
                what = f"an array of {mask.dtype} with shape {mask.shape}"
                raise DetectionsError(f"sources[{name!r}]", what, f"bool for each of the {rows} rows")
        return masks

    def _stream_of(self, source: str) -> Stream:
        stream = self._sources[source]
        if stream not in self._streams or source in self._streams:
            allowed = f"a name of its own, and one of the streams {sorted(self._streams)}"
            raise StreamError("sources", {source: stream}, allowed)
        return self._streams[stream]

    def _refuse_unread(self) -> None:
        if self._has_unread:
            raise StreamError("blocks", "unread", "read to the end, or closed, before the streams go on")

    def advance(self, watermark_us: npt.ArrayLike, area: npt.ArrayLike | None = None) -> int:
        """Let time come to `watermark_us` though no event came, and drop what nothing on time can match any more.

        Parameters
        ----------
        watermark_us : array_like of int
            How far each area has come, in microseconds since the epoch; a single one without areas. What is behind
            the present watermark changes nothing.
        area : array_like, optional
            Labels of areas, one for each watermark; unknown ones do not matter.

        Returns
        -------
        int
            How many events were dropped. Each call looks at all events once: name many areas in one call.
        """
        self._refuse_unread()
        times_us = np.atleast_1d(np.asarray(watermark_us, np.int64))
        for code, time_us in zip(self._codes_of(area, len(times_us)), times_us.tolist(), strict=True):
            if code is not None and time_us > self._intake.watermark.us(code) > BEFORE_ALL_US:
                self._intake.watermark.put(code, time_us)
        before = len(self._buffers)
        self._evict()
        self._intake.forget_labels(self._buffers)
        return before - len(self._buffers)

    def forget(self, area: npt.ArrayLike) -> int:
        """Drop all events of some areas, whatever may still come; return how many. Such an area begins anew."""
        self._refuse_unread()
        codes = [code for code in self._codes_of(area, None) if code is not None]
        refs = self._buffers.drop_areas(np.array(codes, np.int32))
        for code in codes:
            self._intake.watermark.put(code, BEFORE_ALL_US)
        self._intake.forget_labels(self._buffers)
        return len(refs)

    def flush(self) -> int:
        """Drop all events, as nothing will come that could match them; return how many. Watermarks stay."""
        self._refuse_unread()
        held = len(self._buffers)
        for name in self._places:
            self._buffers.buffer(name).evict_oldest(held)
        self._intake.forget_labels(self._buffers)
        return held

    def buffered(self, stream: str) -> int:
        """How many events of a stream are buffered."""
        return len(self._buffers.buffer(stream))

    @property
    def templates_known(self) -> int:
        """How many templates are known: of the events buffered, and some that wait to be forgotten."""
        return self._buffers.templates_known

    def watermark_us(self, area: int | str | None = None) -> int:
        """How far an area has come (without areas: everything); BEFORE_ALL_US if nothing has been seen of it."""
        code = self._intake.labels.area_code(area)
        return BEFORE_ALL_US if code is None else self._intake.watermark.us(code)

    def look_ups(self, name: str) -> LookUps:
        """Hits and misses of a query's caches of template pairs, and their size; nothing while tables will do."""
        self._known(name)
        return self._queries[name].search.look_ups

    def _changes(self, name: str, query: InstalledQuery, new: Mapping[SourceName, Events]) -> tuple[Answer, Answer]:
        if not self._in_force[name].is_paused:
            try:
                return query.changes(new)
            except CandidateLimitError as error:
                self._in_force[name].is_paused, self.suspended[name] = True, error
        return query.nothing(), query.nothing()

    def _put(self, name: str, query: QueryState) -> None:
        arguments = self._places, self._limits, self._intake.labels, self._buffers, query.since
        condition = query.condition
        installed: InstalledQuery
        if isinstance(condition, JoinCondition):
            installed = InstalledPairs(condition, *arguments)
        else:
            installed = InstalledTuples(condition, *arguments)
        self._in_force[name], self._queries[name] = query, installed
        self.suspended.pop(name, None)

    def _known(self, name: str) -> QueryState:
        if name not in self._in_force:
            raise CoincideError("name", name, f"one of {sorted(self._in_force)}")
        return self._in_force[name]

    @property
    def _needs_sensors(self) -> bool:
        return any(query.condition.sensors == "same" for query in self._in_force.values())

    def _codes_of(self, area: npt.ArrayLike | None, count: int | None) -> list[int | None]:
        if area is None:
            return [self._intake.labels.area_code(None)] * (count or 0)
        areas = np.atleast_1d(np.asarray(area)).tolist()
        if count is not None and count != len(areas):
            raise DetectionsError("area", areas, f"{count} areas, one for each watermark")
        return [self._intake.labels.area_code(each) for each in areas]

    def _make_room(self, pushed: Iterable[str]) -> None:
        """Drop events after a push: those that nothing on time can match, then the earliest beyond the hard bound."""
        for name in pushed:
            if self._max_buffered is not None and self.buffered(name) > self._max_buffered:
                self._evict()
                oldest = self._buffers.buffer(name).evict_oldest(self.buffered(name) - self._max_buffered)
                self.dropped += len(oldest)
        if self._intake.is_eviction_due(len(self._buffers)):
            self._evict()
            self._intake.forget_labels(self._buffers)

    def _evict(self) -> None:
        """Drop events that nothing on time can match any more, and templates that none is left of."""
        reach_us = farthest_us(self._places, self._queries.values())
        self._buffers.evict(self._intake.watermark.state_us, reach_us)
        new_codes = self._buffers.forget_templates()
        for query in self._queries.values() if new_codes else ():
            query.search.recode(new_codes)
