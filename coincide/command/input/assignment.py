"""Which template each event has, and from which time it counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.faults import CommandError, RowFaults, shown
from coincide.command.input.file_events import FileEvents
from coincide.command.input.named_templates import Templates
from coincide.command.input.own_uncertainty import spread_templates
from coincide.templates.histogram import Histogram


@dataclass(frozen=True, eq=False)
class Assignment:
    """Templates, which of them each row has (-1: a fault), and the time that each template is relative to."""

    templates: list[Histogram]
    index: Int64Array
    anchor_us: Int64Array


def has_no_uncertainty(events: FileEvents, named: Templates, default: Histogram | None) -> bool:
    """Whether neither the user nor the file says how uncertain any time is."""
    return default is None and not named and not bool(events.own.given.any()) and "template" not in events.labels


def assign_templates(events: FileEvents, named: Templates, default: Histogram | None, faults: RowFaults) -> Assignment:
    """Give each event its own uncertainty, else the template it names, else its sensor's, else `default`."""
    templates = [*named.values()]
    index = np.full(len(events), -1, np.int64)
    if default is not None:
        index[:] = len(templates)
        templates.append(default)
    positions = {name: position for position, name in enumerate(named)}
    _choose(index, events.labels.get("sensor"), positions)
    unknown = _choose(index, events.labels.get("template"), positions)
    own, own_index, shift_us = spread_templates(events.own)
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
