"""Members of matches as their records show them: names, templates and times looked up by columns, not by member."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import TypeVar

import numpy as np
from msgspec import UNSET, UnsetType

from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.tuples.set_order import ABSENT
from coincide.places.place import Place
from coincide.places.place_forms import form_of_place
from coincide.places.place_registry import PlaceRegistry
from coincide.queries import Query
from coincide.wire.payload import payload_json
from coincide.wire.results.match_record import MatchMember

Members = tuple[MatchMember, ...]
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class MatchMembers:
    """Makes the members of one query's matches from the rows of the table."""

    query: Query
    rows: EventColumns
    areas: Areas
    templates: VerifiedTemplates
    places: PlaceRegistry

    def members(self, positions: PositionArray) -> list[Members]:
        """Return the members of each tuple, (n, roles), in the order of the roles; those that are `ABSENT` left out."""
        is_present = positions != ABSENT
        of_roles = [
            self._of_role(role, stream, at)
            for (role, stream), at in zip(self.query.roles, np.where(is_present, positions, 0).T, strict=True)
        ]
        every = zip(*of_roles, strict=True)
        if is_present.all():
            return list(every)
        return [tuple(compress(each, present)) for each, present in zip(every, is_present.tolist(), strict=True)]

    def spans_us(self, positions: PositionArray) -> tuple[list[int], list[int]]:
        """Return the earliest possible instant of any member of each tuple, and the latest."""
        is_present = positions != ABSENT
        earliest_us = np.where(is_present, self._earliest_us(positions), np.iinfo(np.int64).max)
        latest_us = np.where(is_present, self.rows.latest_us[positions], np.iinfo(np.int64).min)
        return earliest_us.min(axis=1).tolist(), latest_us.max(axis=1).tolist()

    def _of_role(self, role: str, stream: str, at: PositionArray) -> Iterable[MatchMember]:
        rows, each = self.rows, at.tolist()
        sensors = _by_code(rows.sensor[at], lambda code: self.areas.sensor_of(code).name)
        templates = _by_code(rows.template[at], lambda code: self.templates.histogram(code).id)
        columns = zip(
            sensors,
            [rows.ids[row] for row in each],
            repeat(stream),
            rows.detected_at_us[at].tolist(),
            self._earliest_us(at).tolist(),
            rows.latest_us[at].tolist(),
            templates,
            self._places(at),
        )
        return [
            MatchMember(role, *named, **payload_json(rows.payload[row]))
            for row, named in zip(each, columns, strict=True)
        ]

    def _places(self, at: PositionArray) -> Sequence[dict[str, float] | UnsetType]:
        """Return the place of each row, for queries whose answer depends on it."""
        if not self.query.needs_places:
            return [UNSET] * len(at)
        return _by_code(self.rows.place[at], lambda code: _form(self.places.place(code)))

    def _earliest_us(self, at: PositionArray) -> Int64Array:
        earliest_us: Int64Array = self.rows.detected_at_us[at] + self.templates.earliest_us[self.rows.template[at]]
        return earliest_us


def _form(place: Place | None) -> dict[str, float] | UnsetType:
    return UNSET if place is None else form_of_place(place)


def _by_code(codes: CodeArray, name_of: Callable[[int], T]) -> list[T]:
    """Return the name of each code, each looked up once."""
    of_row = codes.tolist()
    names = {code: name_of(code) for code in set(of_row)}
    return [names[code] for code in of_row]
