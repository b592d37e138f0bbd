"""``coincide learn``: from a log of detections to a file of templates, a table and a picture of how well they do."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array, PositionArray
from coincide.command.answer_files import Stages, advance_of, check_place, opened_sink, shown_stages
from coincide.command.arguments.learn_arguments import LearnRequest
from coincide.command.arguments.options import ReadOptions
from coincide.command.arguments.template_arguments import load_templates, parse_template
from coincide.command.faults import CommandError, note, report_bad_rows
from coincide.command.input.file_events import FileEvents, read_events
from coincide.command.input.file_times import TimeForm
from coincide.command.input.formats import bad_rows_of
from coincide.command.input.repeats import Repeats, no_echoes, of_places
from coincide.command.playback.played_roles import PlayingEvents, stream_otherwise
from coincide.constraints.window import Window
from coincide.learning import (
    Calibration,
    Errors,
    Learning,
    SensorStream,
    calibrate,
    errors_against,
    errors_by_consensus,
)
from coincide.learning.pp_picture import pp_picture
from coincide.learning.sensors_yaml import sensors_yaml
from coincide.templates.histogram import Histogram

TextArray = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Log:
    """The detections of a log, n of them; labels are texts, empty where there is none."""

    detected_at_us: Int64Array
    sensor: TextArray
    stream: TextArray
    area: TextArray
    model: TextArray
    template: TextArray

    def without_echoes(self, echo_us: int | None) -> Log:
        """Return the detections that are no echoes, and say how many are; of reports at one time the first counts."""
        unnamed = np.full(len(self.sensor), "", dtype=object)
        counts = no_echoes(echo_us, self.detected_at_us, (self.area, self.stream), self.sensor, unnamed)
        return Log(*(getattr(self, field.name)[counts] for field in fields(Log)))

    def rows(self) -> dict[SensorStream, PositionArray]:
        """Return the rows of each sensor and stream."""
        names = sorted({*zip(self.sensor.tolist(), self.stream.tolist(), strict=True)})
        number = {name: position for position, name in enumerate(names)}
        codes = np.array([number[name] for name in zip(self.sensor.tolist(), self.stream.tolist(), strict=True)])
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
        return {SensorStream(*name): order[bounds[n] : bounds[n + 1]] for n, name in enumerate(names)}


@dataclass(frozen=True, eq=False)
class Reporters:
    """The sensors and streams of a log: which rows each reported, its area, and its present template if it has one."""

    log: Log
    rows: Mapping[SensorStream, PositionArray]
    area_of: Mapping[SensorStream, str]
    present: Mapping[SensorStream, Histogram]

    @classmethod
    def of(cls, log: Log, reading: ReadOptions) -> Reporters:
        """Find them in the log; their templates are among those that the user names."""
        rows = log.rows()
        return cls(log, rows, _areas(log, rows), _present(reading, log, rows))

    @property
    def models(self) -> dict[str, str]:
        """The model of each sensor that has one."""
        return {of.sensor: self.log.model[at[0]] for of, at in self.rows.items() if self.log.model[at[0]]}

    def errors(self, request: LearnRequest, stages: Stages | None) -> dict[SensorStream, Errors]:
        """Return the errors of each, against what the user trusts."""
        if request.reference is None and request.reference_stream is None:
            return self._by_consensus(request.within)
        references, none = dict(_references(request, self.log, stages)), np.empty(0, np.int64)
        return {
            of: errors_against(
                self.log.detected_at_us[at], references.get(self.area_of[of], references.get("", none)), request.within
            )
            for of, at in self.rows.items()
            if of.stream != request.reference_stream
        }

    def _by_consensus(self, within: Window) -> dict[SensorStream, Errors]:
        unknown = [of for of in self.rows if of not in self.present]
        if unknown:
            raise CommandError(f"sensor {unknown[0].sensor!r} has no present template, which --consensus needs")
        found: dict[SensorStream, Errors] = {}
        sensors = {name: number for number, name in enumerate(sorted({of.sensor for of in self.rows}))}
        for area in sorted({*self.area_of.values()}):
            members = [of for of in self.rows if self.area_of[of] == area]
            at = np.concatenate([self.rows[of] for of in members])
            sizes = [len(self.rows[of]) for of in members]
            source = np.repeat(np.arange(len(members)), sizes)
            sensor = np.repeat([sensors[of.sensor] for of in members], sizes)
            templates = {number: self.present[of] for number, of in enumerate(members)}
            errors = errors_by_consensus(self.log.detected_at_us[at], source, sensor, templates, within)
            found |= {members[number]: each for number, each in errors.items()}
        return found


def run_learn(request: LearnRequest) -> int:
    """Read, learn and write; return the number of templates."""
    for path in (request.out, request.picture):
        check_place(path, [*request.logs, *filter(None, [request.reference])])
    with shown_stages(request.out) as stages:
        reporters = Reporters.of(_read_logs(request, stages), request.reading)
        learning = Learning(request.within, request.buckets, reporters.models, reporters.present)
        errors = reporters.errors(request, stages)
        calibrations = calibrate(errors, learning, progress=advance_of(stages, "learning"))
    _tell(calibrations, has_present=bool(reporters.present))
    learnt = sum(each.learnt is not None for each in calibrations)
    if not learnt:
        raise CommandError("there are too few errors for any template; the table says why")
    _write(request, calibrations, reporters.area_of)
    return learnt


def _write(request: LearnRequest, calibrations: Sequence[Calibration], area_of: Mapping[SensorStream, str]) -> None:
    with opened_sink(request.out) as sink:
        sink.write(sensors_yaml(calibrations, area_of).encode())
    if request.picture is not None:
        with opened_sink(request.picture) as sink:
            sink.write(pp_picture(calibrations).encode())


def _read_logs(request: LearnRequest, stages: Stages | None) -> Log:
    repeats = Repeats()
    parts = [_read_log(path, request, repeats, stages) for path in request.logs]
    repeats.tell()
    log = Log(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Log)))
    return log.without_echoes(request.reading.echo_us)


def _read_log(path: Path, request: LearnRequest, repeats: Repeats, stages: Stages | None) -> Log:
    events = _read(path, request.reading.time_column, request, ["model"], stages)
    playing = PlayingEvents(events, stream_otherwise(events, request.reading.stream, []))
    identity = of_places(events.identity, playing.label("area"), playing.stream)
    events = events.where(repeats.first(identity, events.detected_at_us))
    playing = PlayingEvents(events, stream_otherwise(events, request.reading.stream, []))
    sensor, area = playing.label("sensor"), playing.label("area")
    if not len(events):
        raise CommandError(f"{path}: there are no detections in it")
    if (sensor == "").any():
        row = events.row[np.flatnonzero(sensor == "")[0]]
        raise CommandError(f"{path}: row {row} names no sensor: a template belongs to one")
    area = np.where(area == "", request.area or "", area).astype(object)
    if (area == "").any():
        raise CommandError(f"{path}: some rows name no area: --area names it")
    model = np.array(["" if value is None else str(value) for value in events.attributes["model"]], dtype=object)
    return Log(events.detected_at_us, sensor, playing.stream, area, model, playing.label("template"))


def _read(
    path: Path, time_column: str | None, request: LearnRequest, attributes: Sequence[str], stages: Stages | None
) -> FileEvents:
    bad = bad_rows_of(path)
    options = request.reading
    form: TimeForm = {"assume_utc": options.assume_utc, "unit": options.unit}
    advance = advance_of(stages, f"reading {path.name}")
    events = read_events(path, time_column, bad, advance, attributes, **form)
    report_bad_rows([bad], skip=options.skip_bad)
    return events


def _areas(log: Log, rows: Mapping[SensorStream, PositionArray]) -> dict[SensorStream, str]:
    """Return the area of each sensor, under each of its streams."""
    pairs = sorted({*zip(log.sensor.tolist(), log.area.tolist(), strict=True)})
    area_of = dict(pairs)
    for sensor, area in pairs:
        if area != area_of[sensor]:
            both = f"{area!r} and {area_of[sensor]!r}"
            raise CommandError(f"sensor {sensor!r} is in areas {both}: it can be in one only")
    return {of: area_of[of.sensor] for of in rows}


def _present(
    reading: ReadOptions, log: Log, rows: Mapping[SensorStream, PositionArray]
) -> dict[SensorStream, Histogram]:
    """Return the present template of each that has one: of the name in its rows, of its sensor, or the general one."""
    named = load_templates(reading.templates)
    general = parse_template(reading.uncertainty, named) if reading.uncertainty else None
    present = {}
    for of, at in rows.items():
        by_sensor = named.by_name.get(named.name_for(of.sensor, of.stream) or "", general)
        template = named.by_name.get(log.template[at[0]], by_sensor)
        if template is not None:
            present[of] = template
    return present


def _references(request: LearnRequest, log: Log, stages: Stages | None) -> Iterator[tuple[str, Int64Array]]:
    """Yield known times by area; under the empty name those of every area."""
    if request.reference is not None:
        events = _read(request.reference, request.reference_time, request, [], stages)
        at_us, area = events.detected_at_us, PlayingEvents(events, "").label("area")
    else:
        of_stream = log.stream == request.reference_stream
        if not of_stream.any():
            known = ", ".join(sorted({*log.stream.tolist()}))
            raise CommandError(f"--reference-stream {request.reference_stream}: the log has {known}")
        at_us, area = log.detected_at_us[of_stream], log.area[of_stream]
    for name in sorted({*area.tolist()}):
        yield name, at_us[(area == name) | (area == "")]


HEADINGS = (
    *("sensor", "stream", "errors", "ambiguous", "unmatched", "blurred", "wrong", "learnt from", "buckets"),
    *("distance", "score", "present"),
)


def _tell(calibrations: Sequence[Calibration], *, has_present: bool) -> None:
    """Write the table of figures, and what somebody should know of templates, to standard error."""
    table = [HEADINGS, *map(_cells, calibrations)]
    columns = range(len(HEADINGS) if has_present else len(HEADINGS) - 1)
    widths = [max(len(row[column]) for row in table) for column in columns]
    for row in table:
        cells = [row[n].ljust(widths[n]) if n < 2 else row[n].rjust(widths[n]) for n in columns]
        sys.stderr.write("  ".join(cells).rstrip() + "\n")
    for each in calibrations:
        name = f"{each.of.sensor}, {each.of.stream}"
        if each.learnt is None:
            note(f"{name}: no template: {len(each.errors)} errors, and too few of its stream that stand out of chance")
        elif each.learnt.fills_window:
            note(f"{name}: the template fills much of the window; a longer --within tells more")


def _cells(each: Calibration) -> tuple[str, ...]:
    errors, learnt, held_out = each.errors, each.learnt, each.held_out
    present = None if held_out is None else held_out.present_score
    return (
        *each.of,
        *(str(count) for count in (len(errors), errors.ambiguous, errors.unmatched, errors.blurred)),
        "-" if learnt is None else f"{learnt.wrong_share:.1%}",
        {"own": "its own", "model": "its model", "stream": "its stream", None: "-"}[each.pool],
        "-" if learnt is None else str(len(learnt.template.mass)),
        "-" if held_out is None else f"{held_out.fit.distance:.3f}",
        "-" if held_out is None else f"{held_out.score:.2f}",
        "-" if present is None else f"{present:.2f}",
    )
