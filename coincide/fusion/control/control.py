"""Control: which queries are in force, in which version and since when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar, get_args

import msgspec
import numpy as np
from msgspec import Struct

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.errors import QueryError
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import AnyQuery, Kind, Query, ReadingsQuery, SpellQuery, query_from_json
from coincide.queries.readings.reading_fields import limits_to_json
from coincide.sliding.value_limits import ValueLimits
from coincide.wire.declarations.query_record import QueryRecord, decode_query
from coincide.wire.fields import UNREADABLE
from coincide.wire.results.dead_letter import DeadLetter, as_record
from coincide.wire.status_record import QueryWork, Suspension

OfKind = TypeVar("OfKind", bound=AnyQuery)

REMEMBERED_REMOVALS = 10_000
EVERYWHERE = ""  # no area has this name


class SecondCount(Struct, array_like=True, frozen=True):
    """How many matches there were in an area within a second of received time, by the clock of its partition."""

    listened_s: int
    heard_s: int
    matches: int


@dataclass
class QueryInForce(Generic[OfKind]):
    """A query in the version that is in force."""

    query: OfKind
    version: int
    paused: bool
    activation_seq: int  # detections count from it on; a change of thresholds or a pause keeps it, unless suspended
    matches: int = 0  # of all versions
    episodes: int = 0  # records of episodes, of all versions
    suspensions: dict[str, Suspension] = field(default_factory=dict)  # by area; only a newer version lifts them
    match_counts: dict[str, SecondCount] = field(default_factory=dict)  # by area, of the latest second with matches
    earlier_limits: dict[int, dict[str, float]] = field(default_factory=dict)  # by the detection that ended them
    work: QueryWork = field(default_factory=QueryWork)  # of this process, not saved

    @property
    def is_suspended(self) -> bool:
        """Whether it is suspended everywhere."""
        return EVERYWHERE in self.suspensions

    @cached_property
    def document(self) -> bytes:
        """The query as JSON."""
        return msgspec.json.encode(self.query.to_json())

    def follow(self, known: InForce) -> None:
        """Go on with what a version before it has counted and, if it may use that, processed."""
        self.matches, self.episodes, self.work = known.matches, known.episodes, known.work
        if known.query.keeps_activation(self.query) and not known.suspensions:  # else the burst would break them again
            self.activation_seq = known.activation_seq


ActiveQuery = QueryInForce[Query]
ActiveReadings = QueryInForce[ReadingsQuery]
InForce = QueryInForce[Any]


@dataclass
class ActiveSpells(QueryInForce[SpellQuery]):
    """A query for spells in force, and by which limits it has judged which detections."""

    def judged(self, values: FloatArray, seqs: Int64Array) -> tuple[BoolArray, BoolArray]:
        """Whether a spell begins, and whether it lasts, with each value, shape (n,).

        That is by the limits that were in force when its detection came.
        """
        ended = sorted(self.earlier_limits)
        version = np.searchsorted(ended, seqs, side="right")
        limits = [*(ValueLimits(**self.earlier_limits[seq]) for seq in ended), self.query.rule.run.limits]
        begins, lasts = np.ones(len(values), np.bool_), np.ones(len(values), np.bool_)
        for each in np.unique(version).tolist():
            if (limit := limits[each]) is not None:
                at = version == each
                begins[at], lasts[at] = limit.hold(values[at]), limit.last(values[at])
        return begins, lasts

    def forget_limits(self, first_seq: int | None) -> None:
        """Forget limits that ended before the first detection that is kept, or all if there is none."""
        kept = {seq: limits for seq, limits in self.earlier_limits.items() if first_seq is not None and seq > first_seq}
        self.earlier_limits = kept

    def follow(self, known: InForce) -> None:
        """Go on with the spells: each detection is judged by the limits it came under. A pause ends all of them."""
        next_seq = self.activation_seq
        super().follow(known)
        if known.paused or self.paused:
            self.activation_seq = next_seq
        elif isinstance(known, type(self)) and self.activation_seq == known.activation_seq:
            before, now = known.query.rule.run.limits, self.query.rule.run.limits
            self.earlier_limits = dict(known.earlier_limits)
            if before is not None and before != now:
                self.earlier_limits[next_seq] = limits_to_json(before)


IN_FORCE: Mapping[Kind, type[InForce]] = {"spells": ActiveSpells}
"""Kinds of which more is known in force than of every other."""


def in_force(query: AnyQuery, *fields: Any) -> InForce:
    """Return a query of any kind as it is in force, with the other fields of `QueryInForce`."""
    return IN_FORCE.get(query.kind, QueryInForce)(query, *fields)


class ControlError(ValueError):
    """A control record that cannot be applied; the version in force stays."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@dataclass
class Control:
    """Queries in force by id, and the last versions of removed ones, so that none comes back by a replay."""

    streams: KnownStreams
    limits: Limits
    removed: dict[str, int] = field(default_factory=dict)
    offset: int | None = None
    _by_kind: dict[Kind, dict[str, InForce]] = field(default_factory=lambda: {kind: {} for kind in get_args(Kind)})

    def apply(self, record: InputRecord, next_seq: int) -> DeadLetter | None:
        """Apply one record unless a newer version is known; what is unusable gives a letter."""
        self.reached(record.offset)
        if record.value is None:
            return None  # compaction's own marker; the removal itself came before it
        try:
            self._apply(_decode(record, self.limits), next_seq)
        except ControlError as error:
            return DeadLetter(reason=error.reason, detail=str(error), record=as_record(record.value))
        return None

    def reached(self, offset: int) -> None:
        """Note how far the topic has been applied."""
        self.offset = offset if self.offset is None else max(self.offset, offset)

    def _apply(self, change: QueryRecord, next_seq: int) -> None:
        known: InForce | None = next((those[change.id] for those in self._by_kind.values() if change.id in those), None)
        if change.version <= (known.version if known else self.removed.get(change.id, 0)):
            return
        if not change.removed:
            self._put(change, known, next_seq)
            return
        self._drop(change.id)
        self.removed[change.id] = change.version
        while len(self.removed) > REMEMBERED_REMOVALS:
            del self.removed[next(iter(self.removed))]

    def in_force(self) -> list[InForce]:
        """Return the queries of all kinds."""
        return [active for those in self._by_kind.values() for active in those.values()]

    def of_kind(self, kind: Kind) -> dict[str, Any]:
        """Return the queries of one kind by id; no id is of two kinds."""
        return self._by_kind[kind]

    def put_in_force(self, active: InForce) -> None:
        """Let a query be in force, whichever kind of its id was."""
        own = self.of_kind(active.query.kind)
        self._drop(active.query.id, but=own)
        own[active.query.id] = active

    def _drop(self, id_: str, but: object = None) -> None:
        """Let no query of this id be in force, but one among those."""
        for those in self._by_kind.values():
            if those is not but:
                those.pop(id_, None)

    def _put(self, change: QueryRecord, known: InForce | None, next_seq: int) -> None:
        query = _query(change)
        for stream in query.streams:
            if self.streams.get(stream) is None:
                raise ControlError("unknown_stream", f"query {query.id!r} names the undeclared stream {stream!r}")
        if known is None and len(self.in_force()) >= self.limits.max_queries:
            raise ControlError("too_many_queries", f"{len(self.in_force())} queries are in force, no more are allowed")
        self.removed.pop(change.id, None)
        active = in_force(query, change.version, bool(change.paused), next_seq)
        if known is not None:
            active.follow(known)
        self.put_in_force(active)


def _decode(record: InputRecord, limits: Limits) -> QueryRecord:
    value = record.value or b""
    if len(value) > limits.max_frame_bytes:
        raise ControlError("unusable_query", f"the record has {len(value)} bytes: at most {limits.max_frame_bytes}")
    try:
        value.decode()
        change = decode_query(value)
    except UNREADABLE as error:
        raise ControlError("unusable_query", f"no query record: {error}") from None
    if record.key is not None and record.key != change.id.encode():
        raise ControlError("unusable_query", f"the key is {record.key[:200]!r}: it must be the id {change.id!r}")
    return change


def _query(change: QueryRecord) -> AnyQuery:
    try:
        query = query_from_json(change.document)
    except (QueryError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ControlError("unusable_query", str(error)) from None
    if query.id != change.id:
        raise ControlError("unusable_query", f"query.id is {query.id!r}: it must be {change.id!r}")
    return query
