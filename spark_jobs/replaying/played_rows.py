"""PlayedRows: which detections of a run may play each role of its query, as the library's joins take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide import Detections, Histogram
from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.queries import Query
from coincide.queries.role_filter import Source
from spark_jobs.matching.row_buffers import NO_GROUP, AttributeGroups
from spark_jobs.rows.attributes import attribute, attributes_of

IDENTITY = ("area", "sensor_id", "stream", "id", "detected_at_us")
ARRIVAL = ("received_at_us", "partition", "offset", "position")


def without_repetitions(rows: pa.Table) -> pa.Table:
    """Return each detection once, as it came first: gateways post again what was not acknowledged.

    Detections of one sensor and stream that share their id are the same if they share their time as well.
    """
    if pc.count_distinct(rows["id"]).as_py() == len(rows):
        return rows
    ordered = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in ARRIVAL]))
    numbered = ordered.append_column("nth", pa.array(np.arange(len(ordered))))
    first = numbered.group_by(list(IDENTITY)).aggregate([("nth", "min")])["nth_min"]
    return ordered.take(first)


@dataclass(frozen=True, eq=False)
class PlayedRows:
    """Rows of a run, by role of its query; a source of two roles is one batch."""

    query: Query
    rows: pa.Table
    templates: Mapping[str, Histogram]

    @cached_property
    def batches(self) -> dict[str, Detections]:
        """The detections of each role."""
        by_source = {source: self._whole.take(at) for source, at in self._of_source.items()}
        return {role: by_source[source] for role, source in self._sources.items()}

    @property
    def keys(self) -> dict[str, Int64Array] | None:
        """The keys of each role's detections, where the query asks for equal values."""
        if self.query.equal is None:
            return None
        return {role: self._groups[self._of_source[source]].astype(np.int64) for role, source in self._sources.items()}

    @cached_property
    def may_meet_themselves(self) -> bool:
        """Whether some row is of two different sources."""
        return any(
            len(np.intersect1d(rows, other_rows))
            for (one, rows), (other, other_rows) in combinations(self._of_source.items(), 2)
            if one.stream == other.stream
        )

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
            rows[is_present, nth] = self._of_source[source][members[is_present, nth]]
        return rows

    @property
    def _sources(self) -> dict[str, Source]:
        return dict(zip(self.query.graph.roles, self.query.sources, strict=True))

    @cached_property
    def _of_source(self) -> dict[Source, PositionArray]:
        return {source: np.flatnonzero(self._mask(source)) for source in self._sources.values()}

    @cached_property
    def _whole(self) -> Detections:
        ids = [*self.templates]
        template = pc.index_in(self.rows["template"], value_set=pa.array(ids, pa.string()))
        return Detections(
            self.rows["detected_at_us"].to_numpy(),
            [self.templates[id_] for id_ in ids],
            template.to_numpy().astype(np.int32),
            self._codes("area"),
            self._codes("sensor_id"),
            id=self._codes("id"),
        )

    @cached_property
    def _groups(self) -> CodeArray:
        """Codes of what is to be equal, by row."""
        groups = AttributeGroups(self.query.equal or "")
        return groups.codes(np.zeros(len(self.rows), np.int32), self._attributes)

    @cached_property
    def _attributes(self) -> list[bytes]:
        texts: list[bytes] = self.rows["attributes"].cast(pa.binary()).to_pylist()
        return texts

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
        mask: BoolArray = pc.equal(self.rows["stream"], source.stream).to_numpy()
        if not source.is_whole:
            names = list(zip(self.rows["sensor_id"].to_pylist(), self.rows["area"].to_pylist(), strict=True))
            admitted = {each: source.admits_names(*each) for each in dict.fromkeys(names)}
            mask = mask & np.fromiter((admitted[each] for each in names), np.bool_, len(names))
        if source.filter.where:
            for row in np.flatnonzero(mask).tolist():
                mask[row] = self._says_so(source, self._attributes[row])
        return mask if self.query.equal is None else mask & (self._groups != NO_GROUP)

    def _says_so(self, source: Source, attributes: bytes) -> bool:
        by_name = attributes_of(attributes)
        return source.filter.admits_attributes(lambda name: attribute(by_name, name))
