"""``coincide explain``: from a query and files, or templates, to what the query can find and what chance gives."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coincide.arrays.kinds import Int64Array
from coincide.command.answer_files import advance_of, opened_sink, shown_stages
from coincide.command.arguments.explain_arguments import ExplainRequest
from coincide.command.arguments.options import ReadOptions
from coincide.command.faults import CommandError, report_bad_rows
from coincide.command.input.arrivals import ArrivalReader, Arrivals
from coincide.command.input.chosen_templates import load_templates, parse_template
from coincide.command.input.formats import bad_rows_of
from coincide.command.input.own_uncertainty import MOST_SPREADS
from coincide.command.query_files import read_queries
from coincide.queries import Query
from coincide.queries.explaining import KnownSensor, explain, least_threshold, sentences_of
from coincide.templates.histogram import Histogram

LONG = 10  # times the reach of a match: in a shorter time rates say little


def run_explain(request: ExplainRequest) -> int:
    """Read, explain and write; return the number of sensors known."""
    _check_out(request)
    [query] = read_queries([request.query])
    sensors = _sensors_of_files(request, query) if request.inputs else named_sensors(request.reading, query)
    explanation = explain(query, sensors)
    figures, sentences = explanation.to_json(), sentences_of(explanation)
    if request.chance_per_day is not None:
        if explanation.chance is None:
            raise CommandError("--chance-per-day: how often chance gives a match is not known without rates")
        figures["least_threshold"] = least_threshold(query, sensors, request.chance_per_day)
        sentences.append(_chosen(figures["least_threshold"], request.chance_per_day))
    with opened_sink(request.out) as sink:
        sink.write(_written(request.out, {**figures, "sentences": sentences}).encode())
    return len(sensors)


def _check_out(request: ExplainRequest) -> None:
    for path in (request.query, *request.inputs):
        if request.out is not None and request.out.exists() and path.exists() and request.out.samefile(path):
            raise CommandError(f"{request.out} is read and cannot be written as well: give --out another name")


def _written(out: Path | None, figures: Mapping[str, Any]) -> str:
    if out is not None and out.suffix.lower() == ".json":
        return json.dumps(figures, indent=2) + "\n"
    return "".join(f"{sentence}\n" for sentence in figures["sentences"])


def _chosen(threshold: float | None, per_day: float) -> str:
    if threshold is None:
        return f"No threshold lets chance give at most {per_day:g} matches a day."
    return f"From a threshold of {threshold:g} on, chance gives at most {per_day:g} matches a day."


def named_sensors(reading: ReadOptions, query: Query) -> list[KnownSensor]:
    """Return a sensor for each template: of the stream of its name, else of all streams without such a template."""
    named = load_templates(reading.templates) if reading.templates else {}
    otherwise = {name: template for name, template in named.items() if name not in query.streams}
    sensors = []
    for stream in dict.fromkeys(query.streams):
        chosen = {stream: named[stream]} if stream in named else otherwise
        if not chosen and reading.uncertainty is not None:
            chosen = {stream: parse_template(reading.uncertainty, named)}
        sensors += [KnownSensor(name, "", stream, template) for name, template in chosen.items()]
    return sensors


def _sensors_of_files(request: ExplainRequest, query: Query) -> list[KnownSensor]:
    reader = ArrivalReader(request.reading, [query], most_own=MOST_SPREADS)
    bad = [bad_rows_of(path) for path in request.inputs]
    with shown_stages(request.out) as stages:
        parts = chain(*(reader.read(each, advance_of(stages, f"reading {each.path.name}")) for each in bad))
        sensors = seen_sensors(parts, query)
    report_bad_rows(bad, skip=True)
    reader.tell_others()
    return sensors


def seen_sensors(parts: Iterable[Arrivals], query: Query) -> list[KnownSensor]:
    """Return the sensors of these detections, once for each template, and how often they report in their area.

    Rates are 0 where an area was watched for less than ten times the reach of a match.
    """
    counts, spans_us = Counter[tuple[str, str, str, Histogram]](), dict[str, tuple[int, int]]()
    for part in parts:
        counts.update(_counts(part))
        for area, (first_us, last_us) in _spans_us(part).items():
            known = spans_us.get(area, (first_us, last_us))
            spans_us[area] = (min(first_us, known[0]), max(last_us, known[1]))
    longest_s = max((template.length_s for *_, template in counts), default=0.0)
    least_s = LONG * (2 * longest_s + max(edge.window.hi_s - edge.window.lo_s for edge in query.graph.edges))
    found = []
    for (area, sensor, stream, template), count in sorted(counts.items(), key=lambda item: item[0][:3]):
        span_s = (spans_us[area][1] - spans_us[area][0]) / 1e6
        found.append(KnownSensor(sensor or None, area, stream, template, count / span_s if span_s > least_s else 0.0))
    return found


def _counts(part: Arrivals) -> dict[tuple[str, str, str, Histogram], int]:
    """Return how many detections there are by area, sensor, stream and template."""
    labels = [_encoded(part.rows[name]) for name in ("area", "sensor", "stream")]
    kinds, counts = np.unique(
        np.stack([*(codes for codes, _ in labels), part.rows["template"]]), axis=1, return_counts=True
    )
    found: Counter[tuple[str, str, str, Histogram]] = Counter()
    for (area, sensor, stream, template), count in zip(kinds.T.tolist(), counts.tolist(), strict=True):
        names = (labels[0][1][area], labels[1][1][sensor], labels[2][1][stream])
        found[*names, part.templates[template]] += count
    return found


def _spans_us(part: Arrivals) -> dict[str, tuple[int, int]]:
    """Return the first and the last time of each area."""
    codes, names = _encoded(part.rows["area"])
    first, last = np.full(len(names), np.iinfo(np.int64).max), np.full(len(names), np.iinfo(np.int64).min)
    np.minimum.at(first, codes, part.rows["detected_at_us"])
    np.maximum.at(last, codes, part.rows["detected_at_us"])
    return dict(zip(names, zip(first.tolist(), last.tolist(), strict=True), strict=True))


def _encoded(labels: npt.NDArray[np.object_]) -> tuple[Int64Array, list[str]]:
    """Return the position of each label among the different ones, and these."""
    encoded = pa.array(labels, pa.large_string()).dictionary_encode()
    codes: Int64Array = encoded.indices.to_numpy().astype(np.int64)
    return codes, encoded.dictionary.to_pylist()
