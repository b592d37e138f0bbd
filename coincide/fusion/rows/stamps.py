"""Stamps: what a sensor's detections of one stream share, checked once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from msgspec import UNSET, Raw, json

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array
from coincide.errors import PlaceError
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.rows.event_table import TemplateFault, VerifiedTemplates
from coincide.joins.retention import ROUNDING_US
from coincide.places.place_forms import place_of_form
from coincide.places.place_registry import NO_PLACE, PlaceRegistry
from coincide.wire.detection_record import Stamp
from coincide.wire.fields import UNREADABLE, FrameError, Name, shown

MOST_CACHED_BYTES = 4_194_304


class Unusable(NamedTuple):
    """Why the rows of a stamp cannot be used."""

    reason: str
    detail: str


UNKNOWN_STREAM = Unusable("unknown_stream", "the stream is not declared")
TOO_LONG = Unusable("template_too_long", "the row's template is longer than its stream declares")
BAD_TEMPLATE: dict[int, Unusable] = {
    TemplateFault.MISSING: Unusable("unknown_template", "the frame does not carry the row's template"),
    TemplateFault.MALFORMED: Unusable("malformed_template", "the row's template is no usable histogram"),
    TemplateFault.MISMATCH: Unusable("template_mismatch", "the template's id is not the hash of its content"),
}


NO_STAMP = Stamp("", "", "")  # of rows whose stamp cannot be read


@dataclass(frozen=True, eq=False)
class StampTable:
    """The stamps of a frame, by position; all arrays have shape (stamps,)."""

    stamps: list[Stamp]
    stream: CodeArray  # -1 if it is not declared
    template: CodeArray  # or a `TemplateFault`
    earliest_us: Int64Array  # of its template, 0 if there is none
    latest_us: Int64Array
    place: CodeArray  # `NO_PLACE` if there is none
    sensor: CodeArray  # `NO_SENSOR` until a row of it is on time: what is refused leaves no trace
    refused: dict[int, Unusable]
    is_usable: BoolArray  # whether it is not among the refused

    def __len__(self) -> int:
        return len(self.stamps)


NO_SENSOR = -1

_templates_decoder = json.Decoder(dict[Name, Raw])
_stamps_decoder = json.Decoder(list[Stamp])
_raw_stamps_decoder = json.Decoder(list[Raw])
_stamp_decoder = json.Decoder(Stamp)


_Key = tuple[str, bytes, bytes]
_Kind = tuple[int, int, int, int, Unusable | None]
"""Codes of stream and template, the template's bounds, and why rows of both cannot be used."""


def _size(key: _Key) -> int:
    _, templates, stamps = key
    return len(templates) + len(stamps)


class StampTables:
    """Reads the templates and stamps of frames, and remembers what they mean: gateways post the same again and again.

    What is remembered changes no answer. Its size is bounded by the bytes that it was read from.
    """

    def __init__(self, streams: KnownStreams, templates: VerifiedTemplates, places: PlaceRegistry) -> None:
        self._streams = streams
        self._templates = templates
        self._places = places
        self._known: dict[_Key, StampTable] = {}
        self._known_bytes = 0
        self._kinds: dict[tuple[str, int], _Kind] = {}

    def table(self, area: str, templates: bytes, stamps: bytes) -> StampTable:
        """Return the stamps of a frame, given two pieces of its JSON; FrameError if these are no dict and no list."""
        key = area, templates, stamps
        known = self._known.get(key)
        if known is None:
            known = self._read(templates, stamps)
            if self._known_bytes > MOST_CACHED_BYTES:
                self._known, self._known_bytes = {}, 0
            self._known[key] = known
            self._known_bytes += _size(key)
        return known

    def forget_sensors(self) -> None:
        """Forget the codes of sensors: some have been freed."""
        for table in self._known.values():
            table.sensor[:] = NO_SENSOR

    def forget_declarations(self) -> None:
        """Forget what was read: a stream is declared otherwise now."""
        self._known, self._known_bytes, self._kinds = {}, 0, {}

    def recode(self, new_code: CodeArray) -> None:
        """Follow new template codes by old code, and forget what names one that was forgotten (-1)."""
        self._kinds = {}
        for key, table in list(self._known.items()):
            known = table.template >= 0
            table.template[known] = new_code[table.template[known]]
            if (table.template[known] < 0).any():
                del self._known[key]
                self._known_bytes -= _size(key)

    def recode_places(self, new_code: CodeArray) -> None:
        """Follow new codes of places by old code, and forget what names one that was forgotten (-1)."""
        for key, table in list(self._known.items()):
            placed = table.place != NO_PLACE
            table.place[placed] = new_code[table.place[placed]]
            if (table.place[placed] == NO_PLACE).any():
                del self._known[key]
                self._known_bytes -= _size(key)

    def _read(self, templates: bytes, stamps_json: bytes) -> StampTable:
        try:
            contents = _templates_decoder.decode(templates)
        except UNREADABLE as error:
            raise FrameError(f"no frame: templates: {error}") from None
        codes = {id_: self._templates.code(id_, content) for id_, content in contents.items()}
        stamps, refused = _stamps_of(stamps_json)
        return self.of_codes(stamps, [codes.get(each.template, TemplateFault.MISSING) for each in stamps], refused)

    def of_codes(
        self, stamps: list[Stamp], templates: Sequence[int], unreadable: Mapping[int, Unusable] | None = None
    ) -> StampTable:
        """Return stamps whose templates have these codes; of some it is known already why they are refused."""
        kinds = [self._kind(each.stream, code) for each, code in zip(stamps, templates, strict=True)]
        columns = np.array([kind[:4] for kind in kinds], np.int64).reshape(-1, 4).T
        refused = {nth: why for nth, (*_, why) in enumerate(kinds) if why is not None} | dict(unreadable or {})
        place = self._places_of(stamps, refused)
        is_usable = np.ones(len(stamps), np.bool_)
        is_usable[[*refused]] = False
        sensor = np.full(len(stamps), NO_SENSOR, np.int32)
        stream, template = columns[:2].astype(np.int32)
        return StampTable(stamps, stream, template, columns[2], columns[3], place, sensor, refused, is_usable)

    def _places_of(self, stamps: Sequence[Stamp], refused: dict[int, Unusable]) -> CodeArray:
        """Return the code of each stamp's place, and refuse those that name none."""
        place = np.full(len(stamps), NO_PLACE, np.int32)
        for nth, stamp in enumerate(stamps):
            if stamp.place is not UNSET:
                try:
                    place[nth] = self._places.code(place_of_form(stamp.place))
                except PlaceError as error:
                    refused.setdefault(nth, Unusable("malformed_detection", f"place.{error}"))
        return place

    def _kind(self, stream: str, template: int) -> _Kind:
        known = self._kinds.get((stream, template))
        if known is None:
            declared, bounds_us, why = self._streams.get(stream), (0, 0), BAD_TEMPLATE.get(template)
            code = -1 if declared is None else self._streams.codes[stream]
            if template >= 0:
                bounds_us = int(self._templates.earliest_us[template]), int(self._templates.latest_us[template])
            if declared is None:
                why = UNKNOWN_STREAM
            elif why is None and bounds_us[1] - bounds_us[0] > declared.longest_template_us + ROUNDING_US:
                why = TOO_LONG
            known = code, template, *bounds_us, why
            if code >= 0:  # any number of others may be named
                self._kinds[stream, template] = known
        return known


def _stamps_of(content: bytes) -> tuple[list[Stamp], dict[int, Unusable]]:
    """Return all stamps, and by position why those that cannot be read are refused."""
    try:
        return _stamps_decoder.decode(content), {}
    except UNREADABLE:
        pass
    try:
        raw = _raw_stamps_decoder.decode(content)
    except UNREADABLE as error:
        raise FrameError(f"no frame: stamps: {error}") from None
    stamps, refused = [], {}
    for nth, each in enumerate(raw):
        try:
            stamps.append(_stamp_decoder.decode(each))
        except UNREADABLE as error:
            stamps.append(NO_STAMP)
            refused[nth] = Unusable("malformed_detection", f"stamp {nth} is {shown(each)}: {error}")
    return stamps, refused
