"""``coincide join``: from two files to the file of pairs that happened together."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from coincide.arrays import FloatArray
from coincide.command.answer import DIGITS, PairBlock, shown_columns
from coincide.command.assignment import Assignment, assigned, missing_labels, says_nothing
from coincide.command.bad_rows import LISTED, BadRows
from coincide.command.destination import check_destination, is_terminal, opened_answer
from coincide.command.errors import CommandError
from coincide.command.events import Events, read_events, without
from coincide.command.faults import Faults
from coincide.command.formats import format_of
from coincide.command.frames import frames
from coincide.command.own_uncertainty import is_rounded
from coincide.command.progress import Stages, shown_stages
from coincide.command.request import InputFile, JoinRequest
from coincide.command.role_order import in_wrong_order
from coincide.command.templates_file import Templates, load_templates, parse_template
from coincide.command.text_files import Advance
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
    _check_paths(request)
    named = load_templates(request.templates) if request.templates else {}
    with shown_stages(answer_on_terminal=is_terminal(request.out)) as stages:
        bad = [BadRows(each.path, "row" if format_of(each.path) == "parquet" else "line") for each in request.inputs]
        sides = [_side(request, each, named, told, stages) for each, told in zip(request.inputs, bad, strict=True)]
        _tell_bad_rows(bad, request.skip_bad)
        return _write_pairs(request, sides, stages)


def _check_paths(request: JoinRequest) -> None:
    check_destination(request.out)
    for each in request.inputs:
        if request.out is not None and request.out.exists() and each.path.exists() and request.out.samefile(each.path):
            raise CommandError(f"{request.out} is read and cannot be written as well: give --out another name")


def _side(request: JoinRequest, given: InputFile, named: Templates, bad: BadRows, stages: Stages | None) -> Side:
    default = parse_template(given.uncertainty, named) if given.uncertainty else None
    advance = _advance(stages, f"reading {given.path.name}")
    events = read_events(given.path, given.time_column, bad, advance, assume_utc=request.assume_utc)
    if says_nothing(events, named, default):
        _note(f"{given.path}: nothing says how uncertain its times are; they are taken as exact")
        default = Histogram.point()
    if is_rounded(events.own):
        _note(f"{given.path}: more than 500 different uncertainties; they are rounded to steps of 1 %")
    faults = Faults()
    missing_labels(events, faults)
    chosen = assigned(events, named, default, faults)
    if not faults:
        return events, chosen
    sound = without(events, faults, bad)
    return sound, assigned(sound, named, default, Faults())


def _advance(stages: Stages | None, description: str) -> Advance:
    return (lambda _share: None) if stages is None else stages(description)


def _tell_bad_rows(bad: Sequence[BadRows], skip: bool) -> None:
    count = sum(each.count for each in bad)
    if count and skip:
        for each in bad:
            if each.count:
                _note(f"{each.path}: {each.count} bad {each.unit}{'s' * (each.count != 1)} left out; the first:")
                _note(each.messages()[0])
    elif count:
        unit = "line" if any(each.unit == "line" for each in bad if each.count) else "row"
        for message in [message for each in bad for message in each.messages()][:LISTED]:
            _note(message)
        raise CommandError(
            f"{count} bad {unit}{'s' * (count != 1)} in all: put them right, or --skip-bad leaves them out"
        )


def _write_pairs(request: JoinRequest, sides: Sequence[Side], stages: Stages | None) -> int:
    first, second = sides[0][0], sides[-1][0]
    a, *others = frames(sides)
    _note_one_sensor(request, [first, second])
    advance, place = _advance(stages, "joining"), None if stages is None else _place_in_order(a)
    # called before the answer is opened: what is wrong shows before anything is written
    blocks = timing_join_blocks(a, others[0] if others else None, request.window, request.threshold, request.sensors)
    count = 0
    with opened_answer(request.out, shown_columns(first, second)) as answer:
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
        _note(f"all events are of one sensor, {names.pop()}, so none make a pair: --sensors same or any joins them")


def _pair_block(pairs: Pairs, a: Events, b: Events, request: JoinRequest) -> PairBlock:
    left, right = pairs.left, pairs.right
    offset_us = b.detected_at_us[right] - a.detected_at_us[left]
    if request.is_self_join and request.window.is_symmetric:  # anchors, not reports, decided who is a
        wrong = in_wrong_order(a, left, right, offset_us)
        left, right = np.where(wrong, right, left), np.where(wrong, left, right)
        offset_us = np.abs(offset_us)
    return PairBlock(left, right, offset_us / 1e6, np.round(pairs.probability, DIGITS))


def _note(text: str) -> None:
    sys.stderr.write(f"coincide: {text}\n")
