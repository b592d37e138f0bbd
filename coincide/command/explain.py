"""``coincide explain``: from a query and files, or templates, to what the query can find and what chance gives."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.answer_files import advance_of, check_place, shown_stages, write_sentences
from coincide.command.arguments.explain_arguments import ExplainRequest
from coincide.command.arguments.options import ReadOptions
from coincide.command.arguments.template_arguments import load_templates, parse_template
from coincide.command.chance.chance_note import LONG, note_pauses
from coincide.command.faults import CommandError, report_bad_rows
from coincide.command.input.arrivals import ArrivalReader, Arrivals
from coincide.command.input.formats import bad_rows_of
from coincide.command.input.own_uncertainty import MOST_SPREADS
from coincide.command.input.repeats import Repeats
from coincide.command.playback.played_roles import keyed_sources_of
from coincide.command.query_files import read_queries
from coincide.queries import Query
from coincide.queries.explaining import ExplainedQuery, KnownSensor, chosen_threshold, sentences_of
from coincide.queries.joins.role_filter import Source
from coincide.templates.histogram import Histogram
from coincide.thresholds.recorded_times import RecordedTime, recorded_time


def run_explain(request: ExplainRequest) -> int:
    """Read, explain and write; return the number of sensors known."""
    check_place(request.out, [request.query, *request.inputs])
    [query] = read_queries([request.query])
    seen = _sensors_of_files(request, query) if request.inputs else named_sensors(request.reading, query)
    explained = ExplainedQuery(query, seen.every, passing=seen.passing)
    explanation = explained.explanation()
    figures, sentences = explanation.to_json(), sentences_of(explanation)
    if request.chance_per_day is not None:
        if explanation.chance is None:
            raise CommandError("--chance-per-day: how often chance gives a match is not known without rates")
        figures["least_threshold"] = explained.least_threshold(request.chance_per_day)
        sentences.append(chosen_threshold(figures["least_threshold"], request.chance_per_day, explanation))
    write_sentences(request.out, {**figures, "sentences": sentences})
    return len(seen.every)


def named_sensors(reading: ReadOptions, query: Query) -> SeenSensors:
    """Return the sensors of the templates' file.

    If it declares none, each template is one: of the stream of its name, else of all streams without such a template.
    """
    named = load_templates(reading.templates)
    if named.sensors:
        declared = [(each, stream) for each in named.sensors.values() for stream in each.streams]
        known = [KnownSensor(each.id, each.area, stream, named.of(each, stream)) for each, stream in declared]
        return SeenSensors(known, {})
    otherwise = {name: template for name, template in named.by_name.items() if name not in query.streams}
    sensors = []
    for stream in dict.fromkeys(query.streams):
        chosen = {stream: named.by_name[stream]} if stream in named.by_name else otherwise
        if not chosen and reading.uncertainty is not None:
            chosen = {stream: parse_template(reading.uncertainty, named)}
        sensors += [KnownSensor(name, "", stream, template) for name, template in chosen.items()]
    return SeenSensors(sensors, {})


def _sensors_of_files(request: ExplainRequest, query: Query) -> SeenSensors:
    reader = ArrivalReader(request.reading, [query], most_own=MOST_SPREADS)
    bad = [bad_rows_of(path) for path in request.inputs]
    with shown_stages(request.out) as stages:
        parts = chain(*(reader.read(each, advance_of(stages, f"reading {each.path.name}")) for each in bad))
        repeats, echo_us = Repeats(), request.reading.echo_us
        first: Iterator[Arrivals] = (part.first(repeats) for part in parts)
        if echo_us is not None:  # which files may part
            first = iter([Arrivals.all_of([reader.nothing(), *first]).without_echoes(echo_us)])
        sensors = seen_sensors(first, query)
    report_bad_rows(bad, skip=True)
    repeats.tell()
    reader.tell()
    note_pauses(sensors.recorded.values())
    return sensors


def seen_sensors(parts: Iterable[Arrivals], query: Query) -> SeenSensors:
    """Return the sensors of these detections, once for each template, and how often they report in their area.

    Rates are those of the time in which something was recorded. They are 0 where that is less than ten times the reach
    of a match.
    """
    filtered = {keyed.source: keyed for keyed in keyed_sources_of(query) if keyed.source.filter.where}
    counts: dict[Source | None, _Counts] = {source: Counter() for source in (None, *filtered)}
    times_us = defaultdict[str, list[Int64Array]](list)
    for part in parts:
        for source, of_source in counts.items():
            of_source.update(_counts(part, None if source is None else part.rows[filtered[source]]))
        for area, of_area in _times_us(part).items():
            times_us[area].append(of_area)
    longest_s = max((template.length_s for *_, template in counts[None]), default=0.0)
    least_s = LONG * (2 * longest_s + max(edge.window.hi_s - edge.window.lo_s for edge in query.graph.edges))
    reports = _reports(counts[None])
    recorded = {area: recorded_time(np.concatenate(parts), reports[area]) for area, parts in times_us.items()}
    long_s = {area: each.seconds if each.seconds > least_s else math.inf for area, each in recorded.items()}
    every, *passing = (_known(counts[source], long_s) for source in (None, *filtered))
    return SeenSensors(every, dict(zip(filtered, passing, strict=True)), recorded)


@dataclass(frozen=True)
class SeenSensors:
    """The sensors of files, and of each filtered source those with detections that pass, with the rates of these."""

    every: list[KnownSensor]
    passing: Mapping[Source, list[KnownSensor]]
    recorded: Mapping[str, RecordedTime] = field(default_factory=dict)


_Counts = Counter[tuple[str, str, str, Histogram]]
"""How many detections there are by area, sensor, stream and template."""


def _known(counts: _Counts, span_s: Mapping[str, float]) -> list[KnownSensor]:
    return [
        KnownSensor(sensor or None, area, stream, template, count / span_s[area])
        for (area, sensor, stream, template), count in sorted(counts.items(), key=lambda item: item[0][:3])
    ]


def _counts(part: Arrivals, mask: BoolArray | None) -> _Counts:
    """Count the detections of a part, or those where the mask is true."""
    rows = slice(None) if mask is None else np.flatnonzero(mask)
    labels = [_encoded(part.rows[name][rows]) for name in ("area", "sensor", "stream")]
    kinds, counts = np.unique(
        np.stack([*(codes for codes, _ in labels), part.rows["template"][rows]]), axis=1, return_counts=True
    )
    found: _Counts = Counter()
    for (area, sensor, stream, template), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        names = (labels[0][1][area], labels[1][1][sensor], labels[2][1][stream])
        found[*names, part.templates[template]] += count
    return found


def _reports(counts: _Counts) -> dict[str, int]:
    """Return, by area, how many reports there are of the sensor that made most, on one stream."""
    of_sensor = Counter[tuple[str, str, str]]()
    for (area, sensor, stream, _), count in counts.items():
        of_sensor[area, sensor, stream] += count
    most: dict[str, int] = {}
    for (area, *_), count in of_sensor.items():
        most[area] = max(count, most.get(area, 0))
    return most


def _times_us(part: Arrivals) -> dict[str, Int64Array]:
    """Return when the detections of each area were reported."""
    codes, names = _encoded(part.rows["area"])
    order = np.argsort(codes, kind="stable")
    at_us, bounds = part.rows["detected_at_us"][order], np.searchsorted(codes[order], np.arange(len(names) + 1))
    return {name: at_us[bounds[nth] : bounds[nth + 1]] for nth, name in enumerate(names)}


def _encoded(labels: npt.NDArray[np.object_]) -> tuple[Int64Array, list[str]]:
    """Return the position of each label among the different ones, and these."""
    encoded = pa.array(labels, pa.large_string()).dictionary_encode()
    codes: Int64Array = encoded.indices.to_numpy().astype(np.int64)
    return codes, encoded.dictionary.to_pylist()
