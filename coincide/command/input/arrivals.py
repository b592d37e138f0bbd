"""Arrivals: the detections of one file or of several in their order of arrival, chunk by chunk."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.command.arguments.options import ReadOptions
from coincide.command.arguments.template_arguments import load_templates, parse_template
from coincide.command.faults import BadRows, RowFaults, note, report_bad_rows, shown
from coincide.command.input.chosen_templates import Assignment, assign_templates
from coincide.command.input.chunks import Advance
from coincide.command.input.file_events import UNKNOWN_US, EventReader, FileEvents, no_events, without_faulty
from coincide.command.input.file_times import TimeForm
from coincide.command.input.formats import read_chunks
from coincide.command.input.repeats import Repeats, no_echoes, of_places
from coincide.command.input.row_places import PlaceArray
from coincide.command.playback.played_roles import (
    PlayingEvents,
    attributes_json,
    attributes_of,
    keyed_sources_of,
    stream_otherwise,
)
from coincide.places.place import Place
from coincide.queries import Query
from coincide.templates.histogram import Histogram

SHOWN_STREAMS = 5
NO_ROWS = np.empty(0, np.int64)
NEVER_ROUNDED = math.inf  # what is rounded would depend on how the rows come together


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Detections in columns, n of them.

    `rows` has arrays of shape (n,): anchor_us, which `template`, a position in `templates`, is relative to;
    detected_at_us and received_at_us; identity, as `repeats` has it; file, row, stream, id, area and sensor, empty
    where there is none; sensor_place, None where it is not known or not read. Under a KeyedSource it has whether each
    row is of it, and under ("equal", name) the row's key; or else it has attributes, those that queries read, as JSON.
    A row of which nobody tells when it was received counts as received when it was detected.
    """

    templates: Sequence[Histogram]
    rows: Mapping[Hashable, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.rows["anchor_us"])

    def take(self, at: npt.NDArray[Any] | slice) -> Arrivals:
        """Return the given rows."""
        return Arrivals(self.templates, {name: column[at] for name, column in self.rows.items()})

    def first(self, repeats: Repeats) -> Arrivals:
        """Return the rows that do not come again."""
        identity = of_places(self.rows["identity"], self.rows["area"], self.rows["stream"])
        is_first = repeats.first(identity, self.rows["detected_at_us"])
        return self if is_first.all() else self.take(is_first)

    def without_echoes(self, echo_us: int | None) -> Arrivals:
        """Return the rows that are no echoes, and say how many are; `echo_us` None: none is."""
        place = self.rows["area"], self.rows["stream"]
        counts = no_echoes(echo_us, self.rows["detected_at_us"], place, self.rows["sensor"], self.rows["id"])
        return self if counts.all() else self.take(counts)

    @classmethod
    def all_of(cls, parts: Sequence[Arrivals]) -> Arrivals:
        """Return the rows of all parts, one behind the other."""
        if len(parts) == 1:
            return parts[0]
        rows = {name: np.concatenate([part.rows[name] for part in parts]) for name in parts[0].rows}
        before = np.cumsum([0, *(len(part.templates) for part in parts)])[:-1]
        rows["template"] = rows["template"] + np.repeat(before, [len(part) for part in parts])
        return cls([template for part in parts for template in part.templates], rows)


class ArrivalReader:
    """Reads files for queries; `others` counts the detections of streams that no query names.

    With `plays` rows say which roles they may play, else what their attributes are. Where a query needs places, a row
    has the one that it says, else that of its sensor in `places`.
    """

    def __init__(
        self,
        options: ReadOptions,
        queries: Sequence[Query],
        longest_s: float = math.inf,
        most_own: float = NEVER_ROUNDED,
        *,
        plays: bool = True,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        self._options, self._queries, self._most_own, self._plays = options, queries, most_own, plays
        self._needs_places = any(query.needs_places for query in queries)
        self._places = places or {}
        self._named = load_templates(options.templates)
        self._default = parse_template(options.uncertainty, self._named) if options.uncertainty else None
        self._attributes = attributes_of(queries)
        self._sources = dict.fromkeys(
            keyed for query in queries for keyed in keyed_sources_of(query) if not keyed.is_whole
        )
        self._streams = {stream for query in queries for stream in query.streams}
        known = [*self._named.by_name.values(), *filter(None, [self._default])]
        self.longest_s = max([longest_s, *(template.length_s for template in known)])
        self.others: Counter[str] = Counter()
        self._has_said_exact = False
        self._no_numbers: Counter[str] = Counter()  # rows by an attribute that should be within limits
        self._first_no_number: dict[str, Any] = {}
        self._kinds: dict[str, set[bool]] = {}  # of each attribute that is equal: whether values are texts

    def nothing(self) -> Arrivals:
        """Return no rows."""
        bad = BadRows(Path(), "row")
        return self._columns(no_events(bad.path, self._attributes), Assignment([], NO_ROWS, NO_ROWS))

    def read(self, bad: BadRows, advance: Advance) -> Iterator[Arrivals]:
        """Yield the rows of a file, chunk by chunk."""
        path, options = bad.path, self._options
        form: TimeForm = {"assume_utc": options.assume_utc, "unit": options.unit}
        reader = EventReader(path, options.time_column, self._attributes, with_places=self._needs_places, **form)
        for chunk in read_chunks(path, reader.wanted, bad, advance, with_content=True):
            events = reader.events(chunk, bad)
            if not options.has_streams:
                events.labels.pop("stream", None)
            arrivals = self._arrivals(events, bad)
            if not options.skip_bad:
                report_bad_rows([bad], skip=False)
            if len(arrivals):
                yield arrivals
        if not options.skip_bad:
            report_bad_rows([bad], skip=False)

    def tell(self) -> None:
        """Say what somebody may not expect: streams that no query names, and values that can never be equal."""
        for name in (name for name, kinds in self._kinds.items() if len(kinds) > 1):
            note(f"{name} is a text in some rows and a number, true or false in others: those are never equal")
        for name, count in self._no_numbers.items():
            rows, first = "1 row" if count == 1 else f"{count} rows", shown(self._first_no_number[name])
            note(f"{name} is no number in {rows}, which no filter with limits lets pass; the first is {first}")
        if self.others:
            names = ", ".join(f"{name} ({count})" for name, count in self.others.most_common(SHOWN_STREAMS))
            many = "1 detection is" if self.others.total() == 1 else f"{self.others.total()} detections are"
            note(f"{many} of a stream that no query names: {names}")

    def _arrivals(self, events: FileEvents, bad: BadRows) -> Arrivals:
        events, faults = self._of_known_streams(events, bad), RowFaults()
        default = self._default or self._exactly(events)
        stream = stream_otherwise(events, self._options.stream, self._queries)
        chosen = assign_templates(events, self._named, default, faults, self._most_own, stream=stream)
        self._refuse_long(chosen, faults)
        if faults:
            events = without_faulty(events, faults, bad)
            chosen = assign_templates(events, self._named, default, RowFaults(), self._most_own, stream=stream)
        return self._columns(events, chosen)

    def _of_known_streams(self, events: FileEvents, bad: BadRows) -> FileEvents:
        stream = PlayingEvents(events, stream_otherwise(events, self._options.stream, self._queries)).stream
        faults = RowFaults()
        faults.add_all(np.flatnonzero(stream == ""), "stream: empty: --stream names that of all that have none")
        if any(query.sensors == "same" for query in self._queries):
            sensor = PlayingEvents(events, "").label("sensor")
            faults.add_all(np.flatnonzero(sensor == ""), "sensor: empty: a query asks for the same sensor")
        known = np.isin(stream, [*self._streams])
        bad.add_faults(faults, events.place)
        usable = faults.sound(len(events))
        self.others.update(stream[usable & ~known].tolist())
        return events.where(usable & known)

    def _exactly(self, events: FileEvents) -> Histogram | None:
        """Return what events without an uncertainty have where the user says nothing about any: exact times."""
        if self._named.by_name or "template" in events.labels:
            return None
        if not self._has_said_exact and not events.own.given.all():
            note(f"{events.path}: nothing says how uncertain some times are; they are taken as exact")
            self._has_said_exact = True
        return Histogram.point()

    def _refuse_long(self, chosen: Assignment, faults: RowFaults) -> None:
        lengths_s = np.array([*(template.length_s for template in chosen.templates), 0.0])
        why = f"its time is uncertain by more than {self.longest_s:g} s: --longest-uncertainty allows it"
        faults.add_all(np.flatnonzero(lengths_s[chosen.index] > self.longest_s), why)

    def _columns(self, events: FileEvents, chosen: Assignment) -> Arrivals:
        playing = PlayingEvents(events, stream_otherwise(events, self._options.stream, self._queries))
        received_us = events.received_at_us
        rows: dict[Hashable, npt.NDArray[Any]] = {
            "anchor_us": chosen.anchor_us,
            "template": chosen.index,
            "detected_at_us": events.detected_at_us,
            "received_at_us": np.where(received_us == UNKNOWN_US, events.detected_at_us, received_us),
            "identity": events.identity,
            "row": events.row,
            "file": np.full(len(events), str(events.path), dtype=object),
            **{name: playing.label(name) for name in ("id", "area", "sensor")},
            "stream": playing.stream,
            "sensor_place": self._sensor_places(events, playing.label("sensor")),
        }
        if self._plays:
            rows |= {keyed: playing.are_in(keyed) for keyed in self._sources}
        else:
            rows["attributes"] = attributes_json(events)
        for name, values in playing.no_numbers([keyed.source for keyed in self._sources]).items():
            self._no_numbers[name] += len(values)
            self._first_no_number.setdefault(name, values[0])
        equal = {keyed.equal for keyed in self._sources if keyed.equal is not None}
        keys = {name: playing.keys(name) for name in equal}
        for name, column in keys.items():
            self._kinds.setdefault(name, set()).update(key.startswith('"') for key in column.tolist() if key)
        played = {("equal", name): column for name, column in keys.items()} if self._plays else {}
        return Arrivals(chosen.templates, rows | played)

    def _sensor_places(self, events: FileEvents, sensor: npt.NDArray[np.object_]) -> PlaceArray:
        said = events.sensor_place
        if not self._needs_places or not self._places:
            return said
        of_sensor = np.array([*map(self._places.get, sensor.tolist()), None], dtype=object)[:-1]
        return np.where(said == None, of_sensor, said)  # noqa: E711 - of each row


def merged(files: Sequence[Iterator[Arrivals]]) -> Iterator[Arrivals]:
    """Yield the rows of all files in the order of their arrival; within a file they keep their order.

    A row that stands behind another of its file is taken to have arrived no earlier.
    """
    if len(files) == 1:
        yield from files[0]
        return
    waiting: dict[int, tuple[Arrivals, npt.NDArray[np.int64]]] = {}
    latest = np.full(len(files), np.iinfo(np.int64).min)
    going = dict(enumerate(files))
    while True:
        for number in [number for number in going if number not in waiting]:
            part = next(going[number], None)
            if part is None:
                del going[number]
                continue
            arrived = np.maximum(np.maximum.accumulate(part.rows["received_at_us"]), latest[number])
            latest[number], waiting[number] = arrived[-1], (part, arrived)
        if not waiting:
            return
        until = min(int(arrived[-1]) for _, arrived in waiting.values())
        yield _up_to(until, waiting)


def _up_to(until: int, waiting: dict[int, tuple[Arrivals, npt.NDArray[np.int64]]]) -> Arrivals:
    """Take the rows that arrived until then, in order."""
    parts, times = [], []
    for number, (part, arrived) in list(waiting.items()):
        count = int(np.searchsorted(arrived, until, side="right"))
        parts.append(part.take(slice(count)))
        times.append(arrived[:count])
        if count == len(part):
            del waiting[number]
        else:
            waiting[number] = part.take(slice(count, None)), arrived[count:]
    order = np.argsort(np.concatenate(times), kind="stable")
    return Arrivals.all_of(parts).take(order)
