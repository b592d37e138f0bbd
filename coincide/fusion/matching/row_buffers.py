"""RowBuffers: the rows that may still match, sorted by group and earliest time, and what groups them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.fusion.readings.reading_columns import PLACE
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events
from coincide.places.place_registry import NO_PLACE, PlaceRegistry
from coincide.places.templates_at_places import TemplatesAtPlaces
from coincide.queries import Query
from coincide.queries.joins.role_filter import Source
from coincide.templates.codes import TemplatesInOrder
from coincide.wire.fields import Scalar
from coincide.wire.payload import attribute, attributes_of, reader

Equal = str | None  # the attribute that a query asks to be equal
NO_GROUP = -1
SPARE_AT_PLACES = 1_024  # codes of templates at places are freed once there are so many more than twice the rows kept


class AttributeGroups:
    """Codes of (area, value of `equal`); equal are JSON's strings, numbers by what they are worth, true and false."""

    def __init__(self, equal: str) -> None:
        self._equal = equal
        self._code_of: dict[tuple[int, bool, object], int] = {}

    def codes(self, area: CodeArray, payload: list[bytes]) -> CodeArray:
        """Return the group of each detection, int32 (n,); `NO_GROUP` for those that have no such value."""
        pairs = zip(area.tolist(), payload, strict=True)
        return np.array([self._code(code, content) for code, content in pairs], np.int32)

    def _code(self, area: int, payload: bytes) -> int:
        value = attribute(attributes_of(payload), self._equal)
        if not isinstance(value, Scalar):
            return NO_GROUP
        return self._code_of.setdefault((area, isinstance(value, bool), value), len(self._code_of))


@dataclass(frozen=True)
class BufferKey:
    """What names a buffer: the events of a source, grouped by area, or by area and an attribute's value.

    Where a query `needs_places`, they are those whose place is known, under codes of templates at places.
    """

    equal: Equal
    source: Source
    needs_places: bool = False

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.equal, self.source, self.needs_places))  # asked for at every look-up, and long


def places_of(query: Query) -> tuple[BufferKey, ...]:
    """Return where the members of each role are buffered."""
    return tuple(BufferKey(query.equal, source, query.needs_places) for source in query.sources)


class RowBuffers:
    """Buffers of the rows that may still match, one for each place that a query names.

    Rows are buffered under their earliest time, as `coincide.joins.search` wants it, and grouped by code.
    """

    def __init__(
        self, streams: Mapping[str, int], areas: Areas, templates: VerifiedTemplates, places: PlaceRegistry
    ) -> None:
        self._streams, self._areas, self._registry, self._known_places = streams, areas, templates, places
        self._at_places = TemplatesAtPlaces()
        self._followed: list[Query] = []
        self._places: dict[str, tuple[BufferKey, ...]] = {}  # of each query, by id
        self._groups: dict[Equal, AttributeGroups] = {}
        self._buffers: dict[BufferKey, Buffer] = {}
        self.templates: dict[BufferKey, TemplatesInOrder] = {}
        self.new: dict[BufferKey, Events] = {}  # the rows of the last insert
        self.no_numbers: set[tuple[int, str]] = (
            set()
        )  # rows of the last insert by number, and what they lack (`NoNumbers`)
        self._inserted = 0

    def insert(self, rows: EventColumns, queries: Iterable[Query]) -> None:
        """Buffer new rows for each of these queries; what none of them names goes, and a new place begins with them."""
        self._follow(list(queries))
        self.no_numbers, self._inserted = set(), len(rows)
        streams = set(rows.stream.tolist())
        came = [place for place in self._buffers if self._streams[place.source.stream] in streams]
        self.new = {place: self._events(place, rows) for place in came}
        for place, events in self.new.items():
            self._buffers[place].insert(events)

    def has_new(self, query: str) -> bool:
        """Whether rows of the last insert may play a role of a query."""
        return any(len(self.new.get(place, ())) for place in self._places[query])

    @property
    def are_grouped_by_value(self) -> bool:
        """Whether a query asks for an attribute to be equal."""
        return bool(self._groups)

    def drop(self, seqs: Int64Array) -> None:
        """Drop the rows that have one of these sequence numbers."""
        for buffer in self._buffers.values():
            buffer.drop(seqs)

    def clear(self) -> None:
        """Forget all rows, and codes of templates at places."""
        self._followed, self._groups, self._buffers = [], {}, {}
        self._at_places = TemplatesAtPlaces()

    def has_spare_places(self, kept: int) -> bool:
        """Whether codes of templates at places are many more than the rows that are kept."""
        return len(self._at_places) > SPARE_AT_PLACES + 2 * kept

    def new_among(self, seqs: Int64Array) -> dict[BufferKey, Events]:
        """Return those of the rows of the last insert that have one of these sequence numbers, which rise."""
        if len(seqs) == self._inserted:
            return self.new
        return {place: events.take(np.flatnonzero(np.isin(events.ref, seqs))) for place, events in self.new.items()}

    def buffer(self, source: BufferKey) -> Buffer:
        """Return the buffer of a place."""
        return self._buffers[source]

    def _follow(self, queries: list[Query]) -> None:
        """Have the places of these queries, unless these are what was followed last."""
        if queries == self._followed:
            return
        self._followed, self._places = queries, {query.id: places_of(query) for query in queries}
        places = list(dict.fromkeys(place for of_query in self._places.values() for place in of_query))  # in order
        self._groups = {place.equal: self._groups_by(place.equal) for place in places if place.equal is not None}
        self._buffers = {place: self._buffers.get(place) or Buffer() for place in places}
        self.templates = {place: self._at_places if place.needs_places else self._registry for place in places}

    def _groups_by(self, equal: str) -> AttributeGroups:
        return self._groups.get(equal) or AttributeGroups(equal)

    def _events(self, place: BufferKey, rows: EventColumns) -> Events:
        """Return the rows that the source admits, sorted as its buffer has them."""
        source = place.source
        at = self._admitted(source, rows, np.flatnonzero(rows.stream == self._streams[source.stream]))
        group = rows.area[at]
        if place.equal is not None:
            group = self._groups[place.equal].codes(group, [rows.payload[row] for row in at.tolist()])
            at, group = at[group != NO_GROUP], group[group != NO_GROUP]
        if place.needs_places:
            is_known = rows.place[at] != NO_PLACE
            self.no_numbers.update((seq, PLACE) for seq in rows.seq[at[~is_known]].tolist())
            at, group = at[is_known], group[is_known]
        earliest_us = rows.detected_at_us[at] + self._registry.earliest_us[rows.template[at]]
        template = self._codes_at_places(rows, at) if place.needs_places else rows.template[at]
        return Events(group, earliest_us, template, rows.sensor[at], rows.seq[at]).sorted()

    def _codes_at_places(self, rows: EventColumns, at: PositionArray) -> CodeArray:
        """Return the code of each row's template at its place."""
        names = np.stack((rows.template[at], rows.place[at]))
        (template, place), nth = np.unique(names, axis=1, return_inverse=True)
        known = self._registry.templates
        codes = self._at_places.codes(
            [known[code] for code in template.tolist()], [self._known_places.place(code) for code in place.tolist()]
        )
        return codes[nth.ravel()]

    def _admitted(self, source: Source, rows: EventColumns, at: PositionArray) -> PositionArray:
        if source.is_whole or len(at) == 0:
            return at
        sensors, first, nth = np.unique(rows.sensor[at], return_index=True, return_inverse=True)
        areas = rows.area[at[first]]  # a sensor is of one area
        names = zip(sensors.tolist(), areas.tolist(), strict=True)
        of_sensor = [
            source.admits_names(self._areas.sensor_of(sensor).name, self._areas.area_of(area).name)
            for sensor, area in names
        ]
        at = at[np.array(of_sensor, np.bool_)[nth]]
        if not source.filter.where:
            return at
        seqs = rows.seq[at].tolist()
        says_so = [self._says_so(source, seq, rows.payload[row]) for seq, row in zip(seqs, at.tolist(), strict=True)]
        return at[np.array(says_so, np.bool_)]

    def _says_so(self, source: Source, seq: int, payload: bytes) -> bool:
        read = reader(payload)
        if source.filter.admits_attributes(read):
            return True
        self.no_numbers.update((seq, name) for name in source.filter.no_numbers(read))
        return False
