"""``coincide join``: from two files to the file of pairs that happened together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.command.answer_files import Stages, advance_of, check_paths, opened_answer, shown_stages
from coincide.command.arguments.join_arguments import InputFile, JoinRequest
from coincide.command.arguments.template_arguments import FileTemplates, load_templates, parse_template
from coincide.command.chance.chance_note import note_chance
from coincide.command.faults import BadRows, CommandError, RowFaults, note, report_bad_rows
from coincide.command.input.chosen_templates import (
    Assignment,
    assign_templates,
    has_no_uncertainty,
    note_empty_labels,
)
from coincide.command.input.file_events import FileEvents, read_events, without_faulty
from coincide.command.input.file_times import TimeForm
from coincide.command.input.formats import bad_rows_of
from coincide.command.input.own_uncertainty import is_rounded
from coincide.command.input.repeats import Repeats, no_echoes
from coincide.command.playback.played_roles import PlayingEvents, stream_otherwise
from coincide.command.reach_note import note_apart, note_out_of_reach, noted_if_empty
from coincide.constraints.graph import ConstraintGraph
from coincide.joins.answers import Pairs
from coincide.joins.detections import Detections
from coincide.joins.pairs.pair_join import timing_join_blocks
from coincide.templates.histogram import Histogram


def in_wrong_order(events: FileEvents, one: PositionArray, other: PositionArray, offset_us: Int64Array) -> BoolArray:
    """Whether `other` goes before `one` by (detected_at, sensor, id); what ties in all of them stays as it is.

    `offset_us` is detected_at of `other` minus that of `one`. Labels are compared as text: a file of text knows no
    other kind, and all formats are to answer alike.
    """
    wrong: BoolArray = offset_us < 0
    ties = np.flatnonzero(offset_us == 0)
    for name in ("sensor", "id"):
        if name in events.labels:
            labels = events.labels[name]
            mine, theirs = (labels.take(pa.array(side[ties])).cast(pa.large_string()) for side in (one, other))
            wrong[ties] = _true(pc.greater(mine, theirs))
            ties = ties[~_true(pc.not_equal(mine, theirs))]
    return wrong


def _true(answers: pa.Array) -> BoolArray:
    """Return the answers as booleans; where a label is missing there is none, and it counts as no."""
    are_true: BoolArray = pc.fill_null(answers, False).to_numpy(zero_copy_only=False)
    return are_true


def detections_of(sides: Sequence[tuple[FileEvents, Assignment]]) -> list[Detections]:
    """Return the detections of each file."""
    events = [side for side, _ in sides]
    with_area = [side.path for side in events if "area" in side.labels and len(side)]
    without_area = [side.path for side in events if "area" not in side.labels and len(side)]
    if with_area and without_area:
        raise CommandError(f"{with_area[0]} has a column area and {without_area[0]} has none: both or neither")
    areas, sensors = (_codes(events, name) for name in ("area", "sensor"))
    return [
        Detections(each.anchor_us, each.templates, each.index, areas[number], sensors[number])
        for number, (_, each) in enumerate(sides)
    ]


def _codes(sides: Sequence[FileEvents], name: str) -> list[Int64Array | None]:
    """Positions of the labels in the sorted list of all of them, for each file; None where it has none."""
    columns = [side.labels[name].cast(pa.large_string()) if name in side.labels else None for side in sides]
    present = [column for column in columns if column is not None]
    known = pc.unique(pa.chunked_array(present, pa.large_string())).sort()
    indices = [None if column is None else pc.index_in(column, value_set=known) for column in columns]
    return [None if each is None else each.to_numpy(zero_copy_only=False).astype(np.int64) for each in indices]


Side = tuple[FileEvents, Assignment]


def run_join(request: JoinRequest) -> int:
    """Read, join and write; return the number of pairs."""
    check_paths(request.out, [each.path for each in request.inputs])
    named = load_templates(request.templates)
    with shown_stages(request.out) as stages:
        bad = [bad_rows_of(each.path) for each in request.inputs]
        sides = [read_side(request, each, named, rows, stages) for each, rows in zip(request.inputs, bad, strict=True)]
        report_bad_rows(bad, skip=request.skip_bad)
        return _write_pairs(request, sides, stages)


def read_side(request: JoinRequest, file: InputFile, named: FileTemplates, bad: BadRows, stages: Stages | None) -> Side:
    """Return the usable events of a file, and the template of each; the others are counted as bad rows."""
    default = parse_template(file.uncertainty, named) if file.uncertainty else None
    advance = advance_of(stages, f"reading {file.path.name}")
    form: TimeForm = {"assume_utc": request.assume_utc, "unit": request.unit}
    events, repeats = read_events(file.path, file.time_column, bad, advance, **form), Repeats()
    events = events.where(repeats.first(events.identity, events.detected_at_us))
    repeats.tell()
    if has_no_uncertainty(events, named, default):
        note(f"{file.path}: nothing says how uncertain its times are; they are taken as exact")
        default = Histogram.point()
    if is_rounded(events.own):
        note(f"{file.path}: more than 500 different uncertainties; they are rounded to steps of 1 %")
    faults = RowFaults()
    note_empty_labels(events, faults)
    stream = stream_otherwise(events, None, [])
    assignment = assign_templates(events, named, default, faults, stream=stream)
    sound = without_faulty(events, faults, bad) if faults else events
    sound = sound.where(_no_echoes(sound, request.echo_us))
    if sound is events:
        return events, assignment
    return sound, assign_templates(sound, named, default, RowFaults(), stream=stream)


def _no_echoes(events: FileEvents, echo_us: int | None) -> BoolArray:
    """Whether each event of a file, which is one stream, is no echo."""
    area, sensor, name = (PlayingEvents(events, "").label(label) for label in ("area", "sensor", "id"))
    return no_echoes(echo_us, events.detected_at_us, (area, area), sensor, name)


def _write_pairs(request: JoinRequest, sides: Sequence[Side], stages: Stages | None) -> int:
    first, second = sides[0][0], sides[-1][0]
    a, *others = detections_of(sides)
    _note_one_sensor(request, [first, second])
    advance = advance_of(stages, "joining")
    # called before the answer is opened: what is wrong shows before anything is written
    blocks = timing_join_blocks(
        a, others[0] if others else None, request.window, request.threshold, request.sensors, progress=advance
    )
    batches = (a, others[0] if others else a)
    blocks = noted_if_empty(blocks, lambda: note_out_of_reach(*batches, request.window, request.threshold))
    count = 0
    shown = shown_columns(first, second)
    with opened_answer(request.out, pa.schema([*shown[0].schema, *shown[1].schema, *PAIR_FIELDS])) as answer:
        of_left, of_right = (answer.part(table) for table in shown)
        for pairs in blocks:
            left, right, of_pair = _shown_pairs(pairs, first, second, request)
            answer.write(of_left.take(pa.array(left)), of_right.take(pa.array(right)), answer.part(of_pair))
            count += len(pairs)
    graph = ConstraintGraph.binary("a", "b", request.window, request.threshold)
    sources = {"a": "a", "b": "b" if others else "a"}
    if count == 0 and others and _are_apart(request, sides, batches):
        return count
    note_chance(count, {"a": a, "b": others[0] if others else a}, graph, None, request.sensors, sources)
    return count


def _are_apart(request: JoinRequest, sides: Sequence[Side], batches: Sequence[Detections]) -> bool:
    """Whether the files have no times that could belong together; then it is said."""
    names = [side.path.name for side, _ in sides]
    names = names if len({*names}) == len(names) else [str(side.path) for side, _ in sides]
    if len({*names}) < len(names):
        return False
    a, b = names
    graph = ConstraintGraph.binary(a, b, request.window, request.threshold)
    return note_apart(dict(zip(names, batches, strict=True)), graph)


def _note_one_sensor(request: JoinRequest, events: Sequence[FileEvents]) -> None:
    sensors = [side.labels["sensor"] for side in events if "sensor" in side.labels]
    if request.sensors != "different" or len(sensors) < len(events) or not all(len(side) for side in events):
        return
    names = {name for column in sensors for name in pc.unique(column).to_pylist()}
    if len(names) == 1:
        note(f"all events are of one sensor, {names.pop()}, so none make a pair: --sensors same or any joins them")


PAIR_FIELDS = (pa.field("offset_s", pa.float64()), pa.field("probability", pa.float64()))
DIGITS = 6  # of a probability; more than any calibration supports


def shown_columns(a: FileEvents, b: FileEvents) -> tuple[pa.Table, pa.Table]:
    """Return what the answer shows of each event: on the left also the area, which both members share."""
    area = {"area": a.labels["area"]} if "area" in a.labels else {}
    return pa.table({**area, **_shown(a, "a")}), pa.table(_shown(b, "b"))


def _shown(events: FileEvents, role: str) -> dict[str, pa.Array]:
    name = f"id_{role}" if "id" in events.labels else f"row_{role}"
    columns = {name: events.labels.get("id", pa.array(events.row))}
    columns[f"detected_at_{role}"] = pa.array(events.detected_at_us).cast(pa.timestamp("us", "UTC"))
    if "sensor" in events.labels:
        columns[f"sensor_{role}"] = events.labels["sensor"]
    return columns


def _shown_pairs(
    pairs: Pairs, a: FileEvents, b: FileEvents, request: JoinRequest
) -> tuple[PositionArray, PositionArray, pa.Table]:
    """Return who stands on either side of each pair, and what belongs to the pair: offset_s is b - a, as reported."""
    left, right = pairs.left, pairs.right
    offset_us = b.detected_at_us[right] - a.detected_at_us[left]
    if len(request.inputs) == 1 and request.window.is_symmetric:  # anchors, not reports, decided who is a
        wrong = in_wrong_order(a, left, right, offset_us)
        left, right = np.where(wrong, right, left), np.where(wrong, left, right)
        offset_us = np.abs(offset_us)
    columns = [pa.array(offset_us / 1e6), pa.array(np.round(pairs.probability, DIGITS))]
    return left, right, pa.Table.from_arrays(columns, schema=pa.schema(PAIR_FIELDS))
