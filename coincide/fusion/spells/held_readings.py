"""HeldReadings: what a query for spells keeps: readings that may still change something, and one row for all before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import json

from coincide.arrays.key_codes import Codes
from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, Int64Array, PositionArray
from coincide.fusion.episodes.episode_records import GroupKey
from coincide.fusion.readings.reading_columns import ReadingColumns
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.fusion.spells.spell_slots import NUMBERS, SettledStretch, SpellReading
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.queries import SpellQuery
from coincide.spells import SpellReadings, Stretches
from coincide.templates.codes import TemplateRegistry
from coincide.templates.packed import packed, unpacked
from coincide.wire.fields import Scalar

SPARE_CODES = 1024

Judge = Callable[[FloatArray, Int64Array], tuple[BoolArray, BoolArray]]
"""Whether a spell begins and whether it lasts with each value, by the limits in force at its sequence number."""


class NewReadings(NamedTuple):
    """Groups that new readings came to, with the newest revision of each, and rows whose value is no number."""

    revisions: dict[int, int]
    no_number: list[int]


class Group(NamedTuple):
    """What tells a group from others, what makes it by name, and the code of its area."""

    key: GroupKey
    label: dict[str, Scalar]
    area: int


class HeldReadings:
    """The readings of one query for spells, of all areas, and its groups by code."""

    def __init__(self, query: SpellQuery, stream: int, areas: Areas, templates: VerifiedTemplates) -> None:
        self._query = query
        self.stream = stream
        self._areas = areas
        self._of_shard = templates
        self._clear()

    def _clear(self) -> None:
        self._columns = ReadingColumns(self._query.by, self._query.value, is_number=self._query.reads_numbers)
        self._groups: Codes[tuple[int, int]] = Codes()  # by code of the area, and of the group in the columns
        self._keys: dict[int, tuple[int, int]] = {}
        self._known: dict[int, Group] = {}
        self._settled_us: dict[int, int] = {}  # by group: its readings up to then are one row
        self.templates = TemplateRegistry()
        self.stretches = Stretches.empty()

    def insert(self, rows: EventColumns, since: int, judge: Judge) -> NewReadings:
        """Take the readings among rows, from sequence number `since` on."""
        ours = np.flatnonzero((rows.stream == self.stream) & (rows.seq >= since))
        if not len(ours):
            return NewReadings({}, [])
        readings, at, no_number = self._columns.read(rows, ours, self._areas)
        group = self._codes(rows.area[at], readings.group)
        new = readings.ts_us > self._last_settled_us(group)
        readings, at, group = readings.where(new), at[new], group[new]
        if len(at):
            is_known = ~np.isnan(readings.value)  # one without a value ends the reading before it, and begins nothing
            begins, lasts = judge(readings.value, rows.seq[at])
            sensors, ids, _ = zip(*readings.refs.tolist(), strict=True)
            taken = SpellReadings(
                group=group,
                begins=begins & is_known,
                goes_on=lasts & is_known,
                ts_us=readings.ts_us,
                detected_at_us=rows.detected_at_us[at],
                template=self._own_templates(rows.template[at]),
                value=np.where(is_known, readings.value, 0.0),
                reading=_objects(list(map(SpellReading, sensors, ids, (rows.payload[row] for row in at.tolist())))),
                revision=rows.offset[at],
                received_at_us=rows.received_at_us[at],
            )
            self.stretches = self.stretches.with_new(Stretches.of(taken))
        revisions: dict[int, int] = {}
        for of_group, offset in zip(group.tolist(), rows.offset[at].tolist(), strict=True):
            revisions[of_group] = max(offset, revisions.get(of_group, -1))
        return NewReadings(revisions, no_number)

    def settle(self, before_us: Int64Array, now_us: Int64Array) -> None:
        """Put together, by area code, what lies before `before_us`; no reading before `now_us` comes any more."""
        area = self.areas_of(self.stretches.group)
        self.stretches = self.stretches.settled(before_us[area], now_us[area], self._query.rule, self.templates)
        is_settled = self.stretches.last_us < before_us[self.areas_of(self.stretches.group)]
        self._note_settled(self.stretches.take(is_settled))
        self._forget_codes()

    def forget(self, areas: Sequence[int]) -> None:
        """Drop what came from these areas."""
        self.stretches = self.stretches.take(~np.isin(self.areas_of(self.stretches.group), areas))
        self._forget_codes()

    def saved(self) -> list[SettledStretch]:
        """Return the rows that stand for what was settled, by area and group."""
        is_settled = self.stretches.last_us <= self._last_settled_us(self.stretches.group)
        written = [self._saved(row) for row in np.flatnonzero(is_settled).tolist()]
        return sorted(written, key=lambda each: each.group)

    def restore(self, saved: Iterable[SettledStretch]) -> None:
        """Begin with what was settled in areas that are still known; the rows that are kept come next."""
        self._clear()
        known = [each for each in saved if self._is_known(each.group)]
        self.stretches = Stretches.joined([self.stretches, *map(self._restored, known)])
        self._note_settled(self.stretches)

    @property
    def has_spare_codes(self) -> bool:
        """Whether most groups or values that were ever read are gone, so that it is time to begin anew."""
        return len(self._columns) > SPARE_CODES + 2 * len(self.stretches)

    def group(self, code: int) -> Group:
        """Return what tells a group from others, what makes it, and the code of its area."""
        known = self._known.get(code)
        if known is None:
            area_code, label_code = self._keys[code]
            area, label = self._areas.area_of(area_code), self._columns.group(label_code)
            key = GroupKey(self._query.id, area.name, area.since, json.encode(list(label.values())))
            known = self._known[code] = Group(key, label, area_code)
        return known

    def value(self, value: float) -> Scalar:
        """Return a value as it was read."""
        return self._columns.value(float(value))

    def areas_of(self, groups: Int64Array) -> PositionArray:
        """Return the code of each group's area."""
        return np.array([self._keys[group][0] for group in groups.tolist()], np.intp)

    def _codes(self, area: CodeArray, group: Int64Array) -> Int64Array:
        return np.array([self._code(pair) for pair in zip(area.tolist(), group.tolist(), strict=True)], np.int64)

    def _code(self, pair: tuple[int, int]) -> int:
        code = self._groups.code(pair)
        self._keys[code] = pair
        return code

    def _last_settled_us(self, group: Int64Array) -> Int64Array:
        return np.array([self._settled_us.get(each, BEFORE_ALL_US) for each in group.tolist()], np.int64)

    def _note_settled(self, settled: Stretches) -> None:
        self._settled_us |= dict(zip(settled.group.tolist(), settled.last_us.tolist(), strict=True))

    def _own_templates(self, template: CodeArray) -> CodeArray:
        of_row = template.tolist()
        known = {code: nth for nth, code in enumerate(sorted(set(of_row)))}
        codes = self.templates.codes([self._of_shard.histogram(code) for code in known])
        return codes[[known[code] for code in of_row]]

    def _forget_codes(self) -> None:
        for code in self._groups.keep_only(np.unique(self.stretches.group).astype(np.int32)).values():
            del self._keys[code]
            self._known.pop(code, None)
            self._settled_us.pop(code, None)
        codes = np.stack((self.stretches.first_template, self.stretches.last_template))
        self.stretches = self.stretches.with_templates(*self.templates.keep_only(np.unique(codes))[codes])

    def _is_known(self, group: GroupKey) -> bool:
        area = self._areas.get(group.area)
        return area is not None and area.since == group.since

    def _saved(self, row: int) -> SettledStretch:
        one, value = self.stretches, self.value
        histogram = self.templates.histogram(int(one.first_template[row]))
        return SettledStretch(
            group=self.group(int(one.group[row])).key,
            begins=bool(one.begins[row]),
            goes_on=bool(one.goes_on[row]),
            template=packed(histogram),
            values=json.encode([value(one.first_value[row]), value(one.last_value[row])]),
            first=one.first[row],
            last=one.last[row],
            numbers=[int(getattr(one, name)[row]) for name in NUMBERS],
            probability=float(one.probability[row]),
        )

    def _restored(self, saved: SettledStretch) -> Stretches:
        """Return the row; the template of its last reading is needed no more, so the first one's stands for it."""
        area = self._areas.area(saved.group.area, saved.group.since)
        group, values = self._columns.codes_of(json.decode(saved.group.values), json.decode(saved.values))
        template = self.templates.codes([unpacked(saved.template)])
        first_value, last_value = (np.array([value], np.float64) for value in values)
        return Stretches(
            group=np.array([self._code((area.code, group))], np.int64),
            begins=np.array([saved.begins]),
            goes_on=np.array([saved.goes_on]),
            first_template=template,
            last_template=template,
            first_value=first_value,
            last_value=last_value,
            first=_objects([saved.first]),
            last=_objects([saved.last]),
            probability=np.array([saved.probability]),
            **{name: np.array([number], np.int64) for name, number in zip(NUMBERS, saved.numbers, strict=True)},
        )


def _objects(values: Sequence[object]) -> npt.NDArray[np.object_]:
    """Return values, tuples among them, as a column."""
    column = np.empty(len(values), object)
    column[:] = values
    return column
