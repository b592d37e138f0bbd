"""PlayedRows: which detections of a run may play each role of its query, as the library's joins take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide import Detections, Histogram
from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, IndexArray, Int64Array, PositionArray
from coincide.fusion.episodes.query_episodes import labels_of
from coincide.fusion.matching.row_buffers import NO_GROUP, AttributeGroups
from coincide.probability import occurrence_columns
from coincide.queries import Query
from coincide.queries.fields.checks import ATTRIBUTES
from coincide.queries.joins.role_batches import RoleBatches
from coincide.queries.joins.role_filter import ReadAttribute, Source
from coincide.wire.payload import payload_json, reader
from coincide.wire.results.match_record import MatchMember
from services.history.archiving.frame_rows import payloads_in
from services.history.replaying.engine_rows import EngineRows
from services.history.replaying.pair_levels import PairLevels
from services.history.rows.archive_rows import RowChunk

ONSETS_AT_ONCE = 4_096


@dataclass(frozen=True, eq=False)
class PlayedRows:
    """Rows of a chunk, by role of its query; a source of two roles is one batch. Which rows are the chunk's own."""

    query: Query
    rows: pa.Table
    templates: Mapping[str, Histogram]
    is_own: BoolArray

    @classmethod
    def of(cls, query: Query, chunk: RowChunk) -> PlayedRows:
        """Return the rows of a chunk."""
        return cls(query, chunk.rows, chunk.templates, chunk.is_own)

    @cached_property
    def batches(self) -> dict[str, Detections]:
        """The detections of each role."""
        by_source = {source: self.detections.take(at) for source, at in self.of_source.items()}
        return {role: by_source[source] for role, source in self._sources.items()}

    @property
    def keys(self) -> dict[str, Int64Array] | None:
        """The keys of each role's detections, where the query asks for equal values."""
        if self.query.equal is None:
            return None
        return {role: self._groups[self.of_source[source]].astype(np.int64) for role, source in self._sources.items()}

    @cached_property
    def may_meet_themselves(self) -> bool:
        """Whether some row is of two different sources."""
        return any(
            len(np.intersect1d(rows, other_rows))
            for (one, rows), (other, other_rows) in combinations(self.of_source.items(), 2)
            if one.stream == other.stream
        )

    def joined(self, query: Query) -> RoleBatches:
        """Return what is joined, of this query or of it with another threshold."""
        return RoleBatches(query, self.batches, self.keys, self.differ if self.may_meet_themselves else None)

    @cached_property
    def no_numbers(self) -> set[tuple[int, str]]:
        """The chunk's own rows, and attributes of them, that are no numbers where a role needs one."""
        found: set[tuple[int, str]] = set()
        for source, played in self.of_source.items():
            if source.filter.where:
                refused = self._named(source) & self.is_own
                refused[played] = False
                for row in np.flatnonzero(refused).tolist():
                    found.update((row, name) for name in source.filter.no_numbers(self._reader(row)))
        return found

    @cached_property
    def without_place(self) -> int:
        """How many of the chunk's own rows that may play a role have no place, where the query needs it."""
        if not self.query.needs_places:
            return 0
        lacks: BoolArray = pc.is_null(self.rows["place"]).to_numpy()
        is_asked = np.zeros(len(self.rows), np.bool_)
        for played in self.of_source.values():
            is_asked[played] = True
        return int(np.count_nonzero(is_asked & self.is_own & lacks))

    def differ(self, members: Int64Array) -> BoolArray:
        """Whether no row plays two roles, for tuples of positions, bool (n,)."""
        rows = self.rows_of(members)
        different: BoolArray = np.ones(len(rows), np.bool_)
        for one, other in combinations(range(rows.shape[1]), 2):
            different &= (rows[:, one] != rows[:, other]) | (rows[:, one] < 0)
        return different

    def rows_of(self, members: Int64Array) -> Int64Array:
        """Return the rows of tuples of positions, (n, roles); -1 where a member is absent."""
        rows = np.full(members.shape, -1)
        for nth, source in enumerate(self._sources.values()):
            is_present = members[:, nth] >= 0
            rows[is_present, nth] = self.of_source[source][members[is_present, nth]]
        return rows

    @cached_property
    def detections(self) -> Detections:
        """All rows."""
        ids = [*self.templates]
        template = pc.index_in(self.rows["template"], value_set=pa.array(ids, pa.string()))
        return Detections(
            self.rows["detected_at_us"].to_numpy(),
            [self.templates[id_] for id_ in ids],
            template.to_numpy().astype(np.int32),
            self._areas,
            self._sensors,
            id=self._codes("id") if self._has_interchange else None,  # sorting them takes longer than all the rest
        )

    @cached_property
    def of_engine(self) -> EngineRows:
        """All rows as the engine has them."""
        return EngineRows.of(self.query, self.rows, self.templates)

    def reached(self, rows: Int64Array, levels: PairLevels) -> FloatArray:
        """Return which of some thresholds each pair of rows reaches, (n,)."""
        index, at_us = (getattr(self.detections, name)[rows.T] for name in ("template_index", "detected_at_us"))
        return levels.reached(self.detections.templates, index, at_us[1] - at_us[0])

    def hulls_us(self, rows: Int64Array) -> Int64Array:
        """Return the earliest and the latest possible instant of any member of tuples of rows, (n, 2)."""
        is_present, everyone = rows >= 0, self.detections
        earliest_us = np.where(is_present, everyone.earliest_us[rows], np.iinfo(np.int64).max)
        latest_us = np.where(is_present, everyone.latest_us[rows], np.iinfo(np.int64).min)
        return np.stack((earliest_us.min(axis=1), latest_us.max(axis=1)), axis=1)

    def onsets_us(self, rows: Int64Array) -> Int64Array:
        """Return the central 90 % of when tuples of rows occurred, (n, 2)."""
        if self.query.graph.is_by_distance:
            return self.of_engine.onsets_us(self.query, rows)
        window = self.query.window if len(self.query.roles) == 2 else self.query.graph.uniform_window
        assert window is not None  # noqa: S101 - the episode rule has checked it
        everyone, members = self.detections, (rows >= 0).sum(axis=1)
        spans_us = np.empty((len(rows), 2), np.int64)
        for count in np.unique(members).tolist():
            of_count = np.flatnonzero(members == count)
            for at in np.array_split(of_count, -(-len(of_count) // ONSETS_AT_ONCE)):
                present = rows[at][rows[at] >= 0].reshape(-1, count).T
                index, at_us = everyone.template_index[present], everyone.detected_at_us[present]
                when = occurrence_columns([everyone.templates] * count, index, at_us, window)
                spans_us[at] = np.stack((when.p05_us, when.p95_us), axis=1)
        return spans_us

    def groups(self, rows: Int64Array, by: Sequence[str]) -> tuple[IndexArray, list[tuple[str, bytes]]]:
        """Return the group of each tuple of rows, (n,), and what the groups are: an area, and labels as JSON."""
        first = np.take_along_axis(rows, (rows >= 0).argmax(axis=1)[:, None], axis=1)[:, 0]
        columns = [self._areas[first], *(self._label(label, rows, first) for label in by)]
        _, at, group = np.unique(np.array(columns), axis=1, return_index=True, return_inverse=True)
        names = zip(self.rows["area"].take(pa.array(first[at])).to_pylist(), rows[at], first[at], strict=True)
        return group.ravel(), [
            (name, b",".join(self._value(label, some, one) for label in by)) for name, some, one in names
        ]

    def _label(self, label: str, rows: Int64Array, first: Int64Array) -> IndexArray:
        """Return a code of what the label is worth in each tuple."""
        role = self._role_of(label)
        at = first if role is None else rows[:, role]
        is_sensor = role is not None and label == f"{self.query.roles[role][0]}.sensor"
        kind = np.where(at < 0, -1, self._sensors[at]) if is_sensor else at
        _, one, nth = np.unique(kind, return_index=True, return_inverse=True)
        values = [self._value_of(label, row) for row in at[one].tolist()]
        codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
        return np.array([codes[value] for value in values], np.intp)[nth]

    def _value(self, label: str, rows: Int64Array, first: int) -> bytes:
        role = self._role_of(label)
        return self._value_of(label, int(first if role is None else rows[role]))

    def _value_of(self, label: str, row: int) -> bytes:
        """Return as JSON what a label is worth in the row of its role; -1: it has none."""
        if row < 0:
            return labels_of([label], [])
        role, sensor = label.partition(".")[0], self.rows["sensor_id"][row].as_py()
        member = MatchMember(role, sensor, "", "", 0, 0, 0, "", **payload_json(self._payloads[row]))
        return labels_of([label], [member])

    def _role_of(self, label: str) -> int | None:
        """Return the role that a label is of; None: what it names is equal in all members."""
        names = [role for role, _ in self.query.roles]
        return None if label.startswith(ATTRIBUTES) else names.index(label.partition(".")[0])

    @property
    def _sources(self) -> dict[str, Source]:
        return dict(zip(self.query.graph.roles, self.query.sources, strict=True))

    @cached_property
    def of_source(self) -> dict[Source, PositionArray]:
        """Which rows may play the roles of each source."""
        return {source: np.flatnonzero(self._mask(source)) for source in self._sources.values()}

    @cached_property
    def _areas(self) -> Int64Array:
        return self._codes("area")

    @cached_property
    def _sensors(self) -> Int64Array:
        return self._codes("sensor_id")

    @property
    def _has_interchange(self) -> bool:
        """Whether ids may decide which member takes which role, or which set is the larger one."""
        return len(self.of_source) < len(self.query.roles) or self.query.at_least is not None

    @cached_property
    def _groups(self) -> CodeArray:
        """Codes of what is to be equal, by row."""
        groups = AttributeGroups(self.query.equal or "")
        return groups.codes(np.zeros(len(self.rows), np.int32), self._payloads)

    @cached_property
    def _payloads(self) -> list[bytes]:
        return payloads_in(self.rows)

    def _codes(self, name: str) -> Int64Array:
        """Return positions of texts in the sorted list of them: they compare as the texts do."""
        column = self.rows[name].combine_chunks().dictionary_encode()
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        order = pc.sort_indices(column.dictionary).to_numpy()  # by bytes of UTF-8, which is the order of characters
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes: Int64Array = rank[column.indices.to_numpy(zero_copy_only=False)]
        return codes

    def _mask(self, source: Source) -> BoolArray:
        mask = self._named(source)
        if source.filter.where:
            for row in np.flatnonzero(mask).tolist():
                mask[row] = source.filter.admits_attributes(self._reader(row))
        return mask if self.query.equal is None else mask & (self._groups != NO_GROUP)

    def _named(self, source: Source) -> BoolArray:
        """Whether rows may play the roles of a source as far as names go."""
        mask: BoolArray = pc.equal(self.rows["stream"], source.stream).to_numpy()
        if not source.is_whole:
            names = list(zip(self.rows["sensor_id"].to_pylist(), self.rows["area"].to_pylist(), strict=True))
            admitted = {each: source.admits_names(*each) for each in dict.fromkeys(names)}
            mask = mask & np.fromiter((admitted[each] for each in names), np.bool_, len(names))
        return mask

    def _reader(self, row: int) -> ReadAttribute:
        """Return what tells the value of what a query names in a row."""
        return reader(self._payloads[row])
