"""``coincide join``: from two files to the file of pairs that happened together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow.compute as pc

from coincide.arrays import FloatArray
from coincide.command.answer import DIGITS, PairBlock, shown_columns
from coincide.command.assignment import Assignment, assigned, missing_labels, says_nothing
from coincide.command.bad_rows import BadRows, tell_bad_rows
from coincide.command.destination import check_paths, is_terminal, opened_answer
from coincide.command.events import Events, read_events, without
from coincide.command.faults import Faults
from coincide.command.formats import bad_rows_of
from coincide.command.frames import frames
from coincide.command.notes import note
from coincide.command.own_uncertainty import is_rounded
from coincide.command.pair_answer import pair_answer
from coincide.command.progress import Stages, advance_of, shown_stages
from coincide.command.request import InputFile, JoinRequest
from coincide.command.role_order import in_wrong_order
from coincide.command.templates_file import Templates, load_templates, parse_template
from coincide.detections import Detections
from coincide.histogram import Histogram
from coincide.pairs import Pairs
from coincide.timing_join import timing_join_blocks

Side = tuple[Events, Assignment]


def run_join(request: JoinRequest) -> int:
    """Read, join and write; return the number of pairs.

    Raises
    ------
    CommandError
        What the user can put right.
    """
    check_paths(request.out, [each.path for each in request.inputs])
    named = load_templates(request.templates) if request.templates else {}
    with shown_stages(answer_on_terminal=is_terminal(request.out)) as stages:
        bad = [bad_rows_of(each.path) for each in request.inputs]
        sides = [_side(request, each, named, told, stages) for each, told in zip(request.inputs, bad, strict=True)]
        tell_bad_rows(bad, skip=request.skip_bad)
        return _write_pairs(request, sides, stages)


def _side(request: JoinRequest, given: InputFile, named: Templates, bad: BadRows, stages: Stages | None) -> Side:
    default = parse_template(given.uncertainty, named) if given.uncertainty else None
    advance = advance_of(stages, f"reading {given.path.name}")
    events = read_events(given.path, given.time_column, bad, advance, assume_utc=request.assume_utc)
    if says_nothing(events, named, default):
        note(f"{given.path}: nothing says how uncertain its times are; they are taken as exact")
        default = Histogram.point()
    if is_rounded(events.own):
        note(f"{given.path}: more than 500 different uncertainties; they are rounded to steps of 1 %")
    faults = Faults()
    missing_labels(events, faults)
    chosen = assigned(events, named, default, faults)
    if not faults:
        return events, chosen
    sound = without(events, faults, bad)
    return sound, assigned(sound, named, default, Faults())


def _write_pairs(request: JoinRequest, sides: Sequence[Side], stages: Stages | None) -> int:
    first, second = sides[0][0], sides[-1][0]
    a, *others = frames(sides)
    _note_one_sensor(request, [first, second])
    advance, place = advance_of(stages, "joining"), None if stages is None else _place_in_order(a)
    # called before the answer is opened: what is wrong shows before anything is written
    blocks = timing_join_blocks(a, others[0] if others else None, request.window, request.threshold, request.sensors)
    count = 0
    with opened_answer(request.out, partial(pair_answer, shown_columns(first, second))) as answer:
        for pairs in blocks:
            answer.write(_pair_block(pairs, first, second, request))
            count += len(pairs)
            if place is not None and len(pairs):
                advance(float(place[pairs.left[-1]]))
    advance(1.0)
    return count


def _place_in_order(a: Detections) -> FloatArray:
    """Return how far the join has come with each event: pairs come in the order of a's area and time."""
    place = np.empty(len(a))
    order = np.argsort(a.detected_at_us) if a.area is None else np.lexsort((a.detected_at_us, a.area))
    place[order] = np.linspace(0.0, 1.0, len(a))
    return place


def _note_one_sensor(request: JoinRequest, events: Sequence[Events]) -> None:
    sensors = [side.labels["sensor"] for side in events if "sensor" in side.labels]
    if request.sensors != "different" or len(sensors) < len(events) or not all(len(side) for side in events):
        return
    names = {name for column in sensors for name in pc.unique(column).to_pylist()}
    if len(names) == 1:
        note(f"all events are of one sensor, {names.pop()}, so none make a pair: --sensors same or any joins them")


def _pair_block(pairs: Pairs, a: Events, b: Events, request: JoinRequest) -> PairBlock:
    left, right = pairs.left, pairs.right
    offset_us = b.detected_at_us[right] - a.detected_at_us[left]
    if request.is_self_join and request.window.is_symmetric:  # anchors, not reports, decided who is a
        wrong = in_wrong_order(a, left, right, offset_us)
        left, right = np.where(wrong, right, left), np.where(wrong, left, right)
        offset_us = np.abs(offset_us)
    return PairBlock(left, right, offset_us / 1e6, np.round(pairs.probability, DIGITS))
