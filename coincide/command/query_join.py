"""``coincide join --query``: from files to the file of the tuples that match a query document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array, PositionArray
from coincide.command.answer_files import (
    PROBABILITY_DIGITS,
    Stages,
    advance_of,
    check_paths,
    opened_answer,
    shown_stages,
)
from coincide.command.arguments.join_arguments import QueryJoinRequest
from coincide.command.arguments.options import ReadOptions
from coincide.command.chance.chance_note import note_chance
from coincide.command.explain import seen_sensors
from coincide.command.faults import CommandError, note, report_bad_rows
from coincide.command.input.arrivals import ArrivalReader, Arrivals
from coincide.command.input.chunks import Advance
from coincide.command.input.formats import bad_rows_of
from coincide.command.input.own_uncertainty import MOST_SPREADS
from coincide.command.input.repeats import Repeats
from coincide.command.playback.played_roles import KeyedSource, keyed_sources_of
from coincide.command.query_files import read_queries
from coincide.command.reach_note import note_apart, noted_if_empty
from coincide.joins.answers import Tuples
from coincide.joins.detections import Detections
from coincide.places.place import Place
from coincide.queries import Query
from coincide.queries.explaining import explain, unreachable_because
from coincide.queries.joins.role_batches import RoleBatches

TIME = pa.timestamp("us", "UTC")


@dataclass(frozen=True, eq=False)
class PlayedRoles:
    """The rows of all files that may play each role of a query; a source of two roles is one batch."""

    query: Query
    arrivals: Arrivals

    @cached_property
    def rows(self) -> dict[KeyedSource, PositionArray]:
        """The rows of each source."""
        return {keyed: np.flatnonzero(self._mask(keyed)) for keyed in keyed_sources_of(self.query)}

    @cached_property
    def of_role(self) -> dict[str, PositionArray]:
        """The rows of each role."""
        return {role: self.rows[keyed] for role, keyed in self._keyed.items()}

    @cached_property
    def batches(self) -> dict[str, Detections]:
        """The detections of each role."""
        whole = self._whole
        by_source = {keyed: whole.take(rows) for keyed, rows in self.rows.items()}
        return {role: by_source[keyed] for role, keyed in self._keyed.items()}

    @property
    def keys(self) -> dict[str, Int64Array] | None:
        """The keys of each role's detections, where the query asks for equal values."""
        if self.query.equal is None:
            return None
        codes = _codes(self.arrivals.rows["equal", self.query.equal])
        return {role: codes[rows] for role, rows in self.of_role.items()}

    @property
    def joined(self) -> RoleBatches:
        """What is joined."""
        where = self.differ if self.may_meet_themselves else None
        return RoleBatches(self.query, self.batches, self.keys, where)

    @property
    def sources(self) -> dict[str, str]:
        """A name for the source of each role."""
        names = {keyed: str(nth) for nth, keyed in enumerate(self.rows)}
        return {role: names[keyed] for role, keyed in self._keyed.items()}

    def differ(self, members: Int64Array) -> BoolArray:
        """Whether no row plays two roles, for tuples of positions, bool (n,)."""
        rows = self.rows_of(members)
        different: BoolArray = np.ones(len(rows), np.bool_)
        for one, other in combinations(range(rows.shape[1]), 2):
            different &= rows[:, one] != rows[:, other]
        return different

    @cached_property
    def may_meet_themselves(self) -> bool:
        """Whether some row is of two different sources."""
        return any(len(np.intersect1d(one, other)) for one, other in combinations(self.rows.values(), 2))

    def rows_of(self, members: Int64Array) -> Int64Array:
        """Return the rows of tuples of positions, (n, roles); -1 where a member is absent."""
        rows = np.full(members.shape, -1)
        for nth, of_role in enumerate(self.of_role.values()):
            present = members[:, nth] >= 0
            rows[present, nth] = of_role[members[present, nth]]
        return rows

    @property
    def _keyed(self) -> dict[str, KeyedSource]:
        return dict(zip(self.query.graph.roles, keyed_sources_of(self.query), strict=True))

    @cached_property
    def _whole(self) -> Detections:
        rows = self.arrivals.rows
        sensor, unknown = _codes(rows["sensor"]), np.flatnonzero(rows["sensor"] == "")
        sensor[unknown] = len(sensor) + unknown  # each a sensor of its own
        known = None if len(unknown) == len(sensor) else sensor
        area, name = _codes(rows["area"]), _codes(rows["id"])
        return Detections(rows["anchor_us"], self.arrivals.templates, rows["template"], area, known, id=name)

    def _mask(self, keyed: KeyedSource) -> BoolArray:
        if not keyed.is_whole:
            return self.arrivals.rows[keyed]
        mask: BoolArray = np.asarray(self.arrivals.rows["stream"] == keyed.source.stream, dtype=np.bool_)
        return mask


def _codes(labels: npt.NDArray[np.object_]) -> Int64Array:
    """Return positions of labels in the sorted list of them."""
    column = pa.array(labels, pa.large_string())
    positions = pc.index_in(column, value_set=pc.unique(column).sort())
    codes: Int64Array = positions.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def run_query_join(request: QueryJoinRequest) -> int:
    """Read, join and write; return the number of tuples."""
    documents = [request.query] if isinstance(request.query, Path) else []
    check_paths(request.out, [*documents, *request.places, *request.inputs])
    query = read_queries(documents, with_places=True)[0] if isinstance(request.query, Path) else request.query
    options = request.reading if isinstance(request.reading, Sequence) else [request.reading] * len(request.inputs)
    with shown_stages(request.out) as stages:
        if query.needs_places:
            return _write_placed(request, query, options, stages)
        return _write_tuples(request, read_played(query, request.inputs, options, stages), stages)


def read_played(
    query: Query,
    inputs: Sequence[Path],
    reading: Sequence[ReadOptions],
    stages: Stages | None,
    places: Mapping[str, Place] | None = None,
) -> PlayedRoles:
    """Read the rows of files that may play the roles of a query; `reading` says how each file is read."""
    how: Any = {"most_own": MOST_SPREADS, "plays": not query.needs_places, "places": places}
    readers = {each: ArrivalReader(each, [query], **how) for each in dict.fromkeys(reading)}
    bad = [bad_rows_of(path) for path in inputs]
    parts = [
        part
        for rows, each in zip(bad, reading, strict=True)
        for part in readers[each].read(rows, advance_of(stages, f"reading {rows.path.name}"))
    ]
    repeats = Repeats()
    arrivals = Arrivals.all_of([readers[reading[0]].nothing(), *parts]).first(repeats)
    report_bad_rows(bad, skip=True)
    repeats.tell()
    arrivals = arrivals.without_echoes(reading[0].echo_us)
    for reader in readers.values():
        reader.tell()
    return PlayedRoles(query, arrivals)


def _write_tuples(request: QueryJoinRequest, played: PlayedRoles, stages: Stages | None) -> int:
    advance, count = advance_of(stages, "joining"), 0
    blocks = noted_if_empty(_blocks(played, advance), lambda: _note_out_of_reach(played))
    shown = AnswerColumns.of(played, shows_file=len(request.inputs) > 1)
    with opened_answer(
        request.out, shown.table(np.empty((0, len(shown.roles)), np.int64), np.empty(0)).schema
    ) as answer:
        for tuples in blocks:
            table = shown.table(played.rows_of(tuples.members), _thresholded(played.query, tuples))
            answer.write(answer.part(table))
            count += len(tuples)
    advance(1.0)
    if count == 0 and played.query.at_least is None and note_apart(played.batches, played.query.graph):
        return count
    if played.query.at_least is None and played.query.equal is None:
        graph, joint = played.query.graph, played.query.joint_threshold
        note_chance(count, played.batches, graph, joint, played.query.sensors, played.sources)
    return count


def _write_placed(
    request: QueryJoinRequest, query: Query, reading: Sequence[ReadOptions], stages: Stages | None
) -> int:
    """Write the tuples of a query that asks where sensors are, which the engine finds."""
    from coincide.command.playback.placed_join import placed_tuples  # noqa: PLC0415 - needs the extra, as the next
    from coincide.command.stations.station_files import places_of  # noqa: PLC0415

    places = places_of(request.places, skip_bad=reading[0].skip_bad)
    played = read_played(query, request.inputs, reading, stages, places)
    members, probability = placed_tuples(played.query, played.arrivals)
    shown = AnswerColumns.of(played, shows_file=len(request.inputs) > 1)
    table = shown.table(members, probability)
    with opened_answer(request.out, table.schema) as answer:
        answer.write(answer.part(table))
    return len(members)


def _thresholded(query: Query, tuples: Tuples) -> FloatArray:
    """Return the probability that the query has a threshold for, shape (n,)."""
    if query.joint_threshold is not None:
        return tuples.probability
    least: FloatArray = np.nanmin(tuples.edge_probability, axis=1) if len(tuples) else np.empty(0)
    return least


def _note_out_of_reach(played: PlayedRoles) -> None:
    """Say so where no sensors of the files can reach the thresholds."""
    because = unreachable_because(explain(played.query, seen_sensors([played.arrivals], played.query).every))
    if because is not None:
        note(because)


def _blocks(played: PlayedRoles, advance: Advance) -> Iterator[Tuples]:
    query, joined = played.query, played.joined
    if query.at_least is None:
        return joined.blocks(advance)
    if joined.where is not None:
        raise CommandError(f"query {query.id}: at_least with filters that overlap: coincide replay answers it")
    return iter([joined.sets()])


@dataclass(frozen=True, eq=False)
class AnswerColumns:
    """What the answer shows of each row of the files, by column."""

    roles: Sequence[str]
    columns: Mapping[str, pa.Array]
    area: pa.Array | None

    @classmethod
    def of(cls, played: PlayedRoles, *, shows_file: bool) -> AnswerColumns:
        """Choose the columns: rows that have no ids are shown by their number and file."""
        rows = played.arrivals.rows
        text = {name: _text_or_null(rows[name]) for name in ("id", "sensor", "area")}
        has = {name: column.null_count < len(column) for name, column in text.items()}
        row = {"row": pa.array(rows["row"])}
        numbered = {"file": pa.array(rows["file"], pa.large_string()), **row} if shows_file else row
        columns = {
            **({"id": text["id"]} if has["id"] else {}),
            **(numbered if text["id"].null_count or not has["id"] else {}),
            "detected_at": pa.array(rows["detected_at_us"]).cast(TIME),
            **({"sensor": text["sensor"]} if has["sensor"] else {}),
        }
        return cls(list(played.query.graph.roles), columns, text["area"] if has["area"] else None)

    def table(self, members: Int64Array, probability: npt.NDArray[np.float64]) -> pa.Table:
        """Return tuples of rows; what is absent is null."""
        columns = {} if self.area is None else {"area": self.area.take(pa.array(members.max(axis=1, initial=0)))}
        for nth, role in enumerate(self.roles):
            at = pa.array(members[:, nth], mask=members[:, nth] < 0)
            columns |= {f"{name}_{role}": column.take(at) for name, column in self.columns.items()}
        return pa.table({**columns, "probability": pa.array(np.round(probability, PROBABILITY_DIGITS))})


def _text_or_null(labels: npt.NDArray[np.object_]) -> pa.Array:
    texts = pa.array(labels, pa.large_string())
    return pc.if_else(pc.equal(texts, ""), None, texts)
