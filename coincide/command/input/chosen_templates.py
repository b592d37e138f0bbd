"""Which template each event has, and from which time it counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.command.arguments.template_arguments import FileTemplates
from coincide.command.faults import CommandError, RowFaults, shown
from coincide.command.input.file_events import FileEvents
from coincide.command.input.own_uncertainty import MOST_SPREADS, spread_templates
from coincide.templates.histogram import Histogram


@dataclass(frozen=True, eq=False)
class Assignment:
    """Templates, which of them each row has (-1: a fault), and the time that each template is relative to."""

    templates: list[Histogram]
    index: Int64Array
    anchor_us: Int64Array


def has_no_uncertainty(events: FileEvents, named: FileTemplates, default: Histogram | None) -> bool:
    """Whether neither the user nor the file says how uncertain any time is."""
    return (
        default is None and not named.by_name and not bool(events.own.given.any()) and "template" not in events.labels
    )


def assign_templates(
    events: FileEvents,
    named: FileTemplates,
    default: Histogram | None,
    faults: RowFaults,
    most_own: float = MOST_SPREADS,
    *,
    stream: str = "",
) -> Assignment:
    """Give each event its own uncertainty, else the template it names, else its sensor's, else `default`.

    An event that names no stream is of `stream`. Of own uncertainties more than `most_own` different ones are rounded.
    """
    templates = [*named.by_name.values()]
    index = np.full(len(events), -1, np.int64)
    if default is not None:
        index[:] = len(templates)
        templates.append(default)
    positions = {name: position for position, name in enumerate(named.by_name)}
    _choose_by_sensor(index, events, named, positions, stream)
    unknown = _choose_by_name(index, events, positions)
    own, own_index, shift_us = spread_templates(events.own, most_own)
    index = np.where(own_index >= 0, own_index + len(templates), index)
    for row in np.flatnonzero(unknown & (own_index < 0)).tolist():
        faults.add(row, f"template: {shown(events.labels['template'][row].as_py())}: no template of that name is given")
    _note_missing(events, index, faults)
    anchor_us = np.where(events.own.length_us >= 0, events.own.earliest_us + shift_us, events.detected_at_us)
    return Assignment([*templates, *own], index, anchor_us)


def _choose_by_sensor(
    index: Int64Array, events: FileEvents, named: FileTemplates, positions: dict[str, int], otherwise: str
) -> None:
    """Write the positions of the sensors' templates into `index`."""
    if "sensor" not in events.labels or not len(events):
        return
    sensor, sensors = _encoded(events.labels["sensor"])
    stream, streams = _encoded(events.labels.get("stream", pa.nulls(len(events))).cast(pa.large_string()))
    pair = np.where(sensor < 0, len(sensors), sensor) * (len(streams) + 1) + np.where(stream < 0, len(streams), stream)
    sensors, streams = [*sensors, ""], [*streams, otherwise]
    known = np.full(int(pair.max()) + 1, -1)
    for each in np.flatnonzero(np.bincount(pair)).tolist():
        of_sensor, of_stream = divmod(each, len(streams))
        name = named.name_for(sensors[of_sensor], streams[of_stream])
        known[each] = positions.get(name or "", -1)
    _write_known(index, known[pair])


def _choose_by_name(index: Int64Array, events: FileEvents, positions: dict[str, int]) -> BoolArray:
    """Write the positions of the templates that rows name into `index`; return which name one that is not there."""
    if "template" not in events.labels or not len(events):
        return np.zeros(len(index), np.bool_)
    code, names = _encoded(events.labels["template"])
    known = np.array([*(positions.get(name, -1) for name in names), -1], np.int64)
    _write_known(index, known[code])
    strangers: BoolArray = (code >= 0) & (known[code] < 0)
    return strangers


def _write_known(index: Int64Array, chosen: Int64Array) -> None:
    index[chosen >= 0] = chosen[chosen >= 0]


def _encoded(labels: pa.Array) -> tuple[Int64Array, list[str]]:
    """Return the position of each label among the different ones, -1 where there is none, and these."""
    encoded = labels.cast(pa.large_string()).dictionary_encode()
    code: Int64Array = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return code, encoded.dictionary.to_pylist()


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
