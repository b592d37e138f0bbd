"""Templates that a user names, and which template each event has, and from which time it counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.faults import CommandError, RowFaults, shown
from coincide.command.input.file_events import FileEvents
from coincide.command.input.own_uncertainty import MOST_SPREADS, spread_templates
from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram, histogram_of_form

Templates = Mapping[str, Histogram]

SHORT_FORMS = "a name in the templates file, uniform:LO,HI (seconds), normal:SIGMA or normal:SIGMA,BUCKETS, or point"


def load_templates(path: Path) -> dict[str, Histogram]:
    """Return the templates in `path` by name: an object such as ``{"imb": {"uniform": [-0.05, 0.05]}}``."""
    try:
        named = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=partial(_named_once, path))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: no JSON: {error}") from None
    if not isinstance(named, dict):
        example = '{"a": {"uniform": [-1, 1]}}'
        raise CommandError(f"{path}: an object of templates by name was expected, such as {example}")
    return {name: _template(f"{path}: template {name!r}", form) for name, form in named.items()}


def _named_once(path: Path, fields: list[tuple[str, Any]]) -> dict[str, Any]:
    obj: dict[str, Any] = {}
    for name, value in fields:
        if name in obj:
            raise CommandError(f"{path}: {name!r} is there twice")
        obj[name] = value
    return obj


def parse_template(text: str, templates: Templates) -> Histogram:
    """Return the template that `text` means: a name in `templates`, or a short form."""
    if text in templates:
        return templates[text]
    kind, _, parameters = text.partition(":")
    where = f"uncertainty {text!r}"
    try:
        numbers = [float(number) for number in parameters.split(",")] if parameters else []
    except ValueError:
        raise CommandError(f"{where}: {SHORT_FORMS}") from None
    match kind, numbers:
        case "uniform", [_, _]:
            return _template(where, {"uniform": numbers})
        case "normal", [sigma_s]:
            return _template(where, {"normal": {"sigma_s": sigma_s}})
        case "normal", [sigma_s, buckets]:
            many = int(buckets) if buckets.is_integer() else buckets
            return _template(where, {"normal": {"sigma_s": sigma_s, "buckets": many}})
        case "point", []:
            return Histogram.point()
    raise CommandError(f"{where}: {SHORT_FORMS}")


def _template(where: str, form: object) -> Histogram:
    try:
        return histogram_of_form(form)
    except HistogramError as error:
        raise CommandError(f"{where}: {error.field} is {shown(error.value)}: {error.allowed}") from None


@dataclass(frozen=True, eq=False)
class Assignment:
    """Templates, which of them each row has (-1: a fault), and the time that each template is relative to."""

    templates: list[Histogram]
    index: Int64Array
    anchor_us: Int64Array


def has_no_uncertainty(events: FileEvents, named: Templates, default: Histogram | None) -> bool:
    """Whether neither the user nor the file says how uncertain any time is."""
    return default is None and not named and not bool(events.own.given.any()) and "template" not in events.labels


def assign_templates(
    events: FileEvents, named: Templates, default: Histogram | None, faults: RowFaults, most_own: float = MOST_SPREADS
) -> Assignment:
    """Give each event its own uncertainty, else the template it names, else its sensor's, else `default`.

    Of their own uncertainties more than `most_own` different ones are rounded.
    """
    templates = [*named.values()]
    index = np.full(len(events), -1, np.int64)
    if default is not None:
        index[:] = len(templates)
        templates.append(default)
    positions = {name: position for position, name in enumerate(named)}
    _choose(index, events.labels.get("sensor"), positions)
    unknown = _choose(index, events.labels.get("template"), positions)
    own, own_index, shift_us = spread_templates(events.own, most_own)
    index = np.where(own_index >= 0, own_index + len(templates), index)
    for row in np.flatnonzero(unknown & (own_index < 0)).tolist():
        faults.add(row, f"template: {shown(events.labels['template'][row].as_py())}: no template of that name is given")
    _note_missing(events, index, faults)
    anchor_us = np.where(events.own.length_us >= 0, events.own.earliest_us + shift_us, events.detected_at_us)
    return Assignment([*templates, *own], index, anchor_us)


def _choose(index: Int64Array, names: pa.Array | None, positions: dict[str, int]) -> BoolArray:
    """Write the positions of the named templates into `index`; return which rows name one that is not there."""
    if names is None or not len(names):
        return np.zeros(len(index), np.bool_)
    encoded = names.cast(pa.large_string()).dictionary_encode()
    known = np.array([positions.get(name, -1) for name in encoded.dictionary.to_pylist()] or [-1], np.int64)
    code = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    chosen = np.where(code >= 0, known[code], -1)
    index[chosen >= 0] = chosen[chosen >= 0]
    strangers: BoolArray = (code >= 0) & (chosen < 0)
    return strangers


def _note_missing(events: FileEvents, index: Int64Array, faults: RowFaults) -> None:
    missing = np.flatnonzero(index < 0)
    if not len(missing):
        return
    sensor = events.labels.get("sensor")
    if sensor is None and len(missing) == len(events) and "template" not in events.labels:
        raise CommandError(
            f"{events.path} has no column sensor or template to choose a template by: give one with --uncertainty"
        )
    for row in missing.tolist():
        who = f"sensor: {shown(sensor[row].as_py())}: " if sensor is not None else ""
        faults.add(row, f"{who}no template for this event (--uncertainty gives one to all that have none)")


def note_empty_labels(events: FileEvents, faults: RowFaults) -> None:
    """Note the rows whose sensor or area is empty while others' are not."""
    for name in ("sensor", "area"):
        if name in events.labels:
            empty = pc.is_null(events.labels[name]).to_numpy(zero_copy_only=False)
            faults.add_all(np.flatnonzero(empty), f"{name}: empty")
