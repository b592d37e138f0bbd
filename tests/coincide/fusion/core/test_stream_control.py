"""Streams that change while the core runs: what is refused, what a change leaves as it was, and restarts around it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import STREAMS, Row, declaration, frame, put, query_json, started, stream_removal
from tests.coincide.fusion.outputs import SavedCore, late, letters, matches, pairs, reasons, status
from tests.coincide.fusion.strategies import SWEEPING, split
from tests.examples import examples

LONG = Histogram.uniform(-30, 1)
WIDE = query_json(window_s=100.0, threshold=0.3)


class Run:
    """A core that may be restarted after every push."""

    def __init__(self, *records: InputRecord, restarts: bool, limits: Limits = SWEEPING) -> None:
        self.restarts = restarts
        self.core, self.saved = started(limits=limits), SavedCore(limits=limits)
        self.push(*records)

    def push(self, *records: InputRecord) -> Any:
        output = self.core.push(list(records))
        self.saved.save(self.core)
        if self.restarts:
            self.core = self.saved.restored()
        return output


restarting = pytest.mark.parametrize("restarts", [False, True], ids=["without a restart", "with restarts"])


def one(offset: int, row: Row) -> InputRecord:
    return frame(offset, [row], received_at_s=1e9)


@restarting
def test_a_new_stream_is_joined_from_its_declaration_on(restarts: bool) -> None:
    run = Run(put(0, query_json(window_s=3.0, streams=("p", "t"))), restarts=restarts)
    assert reasons(run.push(one(0, Row("a", 1000.0, stream="t")))) == ["unknown_stream"]
    run.push(declaration(1, "t", 5), put(2, query_json(window_s=3.0, streams=("p", "t")), 2))
    run.push(one(1, Row("b", 1001.0, stream="t")))
    assert pairs(run.push(one(2, Row("c", 1002.0)))) == [("c", "b")]
    assert status(run.push())["buffered"] == {"p": 1, "s": 0, "t": 1}


@restarting
def test_a_shorter_delay_counts_at_once_and_a_longer_one_never_brings_back_what_was_too_late(restarts: bool) -> None:
    run = Run(put(0, WIDE), one(0, Row("first", 1000.0)), restarts=restarts)
    run.push(one(1, Row("now", 1050.0)))  # p waits for 20 s
    assert late(run.push(one(2, Row("x", 1029.0)))) == [("north", "x", 1_000_000)]
    run.push(declaration(1, "p", 5))
    assert late(run.push(one(3, Row("y", 1040.0)))) == [("north", "y", 5_000_000)]
    run.push(declaration(2, "p", 100, version=2))
    assert late(run.push(one(4, Row("z", 1044.0)))) == [("north", "z", 1_000_000)]
    assert not late(run.push(one(5, Row("u", 1046.0))))
    run.push(one(6, Row("far", 1140.0)))
    assert late(run.push(one(7, Row("v", 1044.9)))) == [("north", "v", 100_000)]
    assert not late(run.push(one(8, Row("w", 1045.0))))
    run.push(one(9, Row("farther", 1160.0)))  # now the longer delay is what counts
    assert late(run.push(one(10, Row("t", 1059.0)))) == [("north", "t", 1_000_000)]


@restarting
def test_an_id_that_was_forgotten_is_not_remembered_again(restarts: bool) -> None:
    run = Run(put(0, WIDE), one(0, Row("x", 1000.0)), restarts=restarts)
    run.push(one(1, Row("now", 1030.0)))  # x is kept, since something may match it, but would be late
    run.push(declaration(1, "p", 90))
    assert status(run.push(one(2, Row("x", 1028.0))))["totals"]["accepted"] == 3
    totals = status(run.push(one(3, Row("x", 1028.0))))["totals"]
    assert (totals["accepted"], totals["duplicates"]) == (3, 1)


@restarting
def test_what_was_not_needed_when_a_template_became_longer_does_not_come_back(restarts: bool) -> None:
    both = frame(0, [Row("old", 1000.0), Row("young", 1022.0)])  # they share a slot
    run = Run(put(0, query_json(window_s=1.0, threshold=0.01)), both, restarts=restarts, limits=Limits(sweep_after=1))
    run.push(one(2, Row("now", 1035.0)))
    assert status(run.push())["buffered"] == {"p": 2, "s": 0}  # s waits for 10 s, its templates have at most 8
    run.push(declaration(1, "s", 10, 40))
    found = pairs(run.push(one(3, Row("long", 1026.0, LONG, stream="s"))))
    assert found == [("young", "long")]


def test_shorter_templates_are_asked_for_at_once_and_those_before_still_match() -> None:
    run = Run(put(0, query_json(window_s=3.0, threshold=0.1)), restarts=True)
    wide = Histogram.uniform(-7, 0.5)
    run.push(one(0, Row("a", 1000.0, wide)))
    run.push(declaration(1, "p", 20, 1))
    assert reasons(run.push(one(1, Row("b", 1000.0, wide)))) == ["template_too_long"]
    assert pairs(run.push(one(2, Row("c", 1000.0, stream="s")))) == [("a", "c")]


def test_a_stream_that_a_query_reads_is_not_removed_and_what_is_no_declaration_is_a_dead_letter() -> None:
    run = Run(put(0, query_json()), restarts=True)
    assert reasons(run.push(stream_removal(1, "s"))) == ["stream_in_use"]
    odd = InputRecord("queries", 0, 2, b"stream/s", json.dumps({"v": 1, "stream": "s", "version": 1}).encode())
    far = declaration(3, "s", -1)
    other = far._replace(key=b"stream/p")
    told = letters(run.push(odd, far, other))
    assert [each["reason"] for each in told] == ["unusable_stream"] * 3
    assert "max_delay_s" in told[1]["detail"]
    few = FusionCore(STREAMS, Limits(max_streams=2), 0)
    assert reasons(few.push([declaration(0, "t", 5)])) == ["too_many_streams"]


@restarting
def test_a_stream_that_was_removed_comes_back_as_a_new_one(restarts: bool) -> None:
    run = Run(one(0, Row("x", 1000.0)), restarts=restarts)
    run.push(stream_removal(1, "p", 3))
    assert reasons(run.push(one(1, Row("y", 1000.0)))) == ["unknown_stream"]
    assert status(run.push())["buffered"] == {"s": 0}
    assert run.push(declaration(2, "p", 5, version=2)) is not None  # an older record changes nothing
    assert reasons(run.push(one(2, Row("y", 1000.0)))) == ["unknown_stream"]
    run.push(declaration(3, "p", 90, version=4))
    assert status(run.push(one(3, Row("x", 1000.0))))["totals"]["accepted"] == 2


@st.composite
def around_a_change(draw: st.DrawFn) -> tuple[list[InputRecord], list[InputRecord], list[InputRecord]]:
    frames = draw(drawn.frames_in_order())
    cut = draw(st.integers(0, len(frames)))
    changes = [
        declaration(nth, name, draw(st.sampled_from([0, 10, 40, 90])), draw(st.sampled_from([2, 8, 40])))
        for nth, name in enumerate(draw(st.sampled_from(["p", "s", "ps"])), 1)
    ]
    later = frames[cut:]
    if draw(st.booleans()):
        at_s = 1000 + draw(st.integers(0, drawn.LONG_SECONDS))
        later = [*later, frame(100, [Row("long", at_s, LONG, draw(st.sampled_from("ps")))], received_at_s=1e9)]
    return frames[:cut], changes, later


@settings(max_examples=examples(60), deadline=None)
@given(around_a_change(), drawn.queries, st.data())
def test_batches_around_a_change_change_nothing(
    parts: tuple[list[InputRecord], list[InputRecord], list[InputRecord]], query: dict[str, Any], data: st.DataObject
) -> None:
    before, changes, after = parts

    def answers(*batches: list[InputRecord]) -> tuple[list[str], list[tuple[str, str, int]]]:
        core = started(put(0, query), limits=SWEEPING)
        outputs = [core.push(batch) for batch in batches]
        found = sorted(repr(match) for output in outputs for match in matches(output))
        return found, sorted(each for output in outputs for each in late(output))

    expected = answers(before, [*changes, *after])
    first, *rest = split(data.draw, after, 3)
    assert answers(*split(data.draw, before, 3), [*changes, *first], *rest) == expected


def test_an_area_that_has_no_time_yet_saves_nothing_of_a_longer_delay() -> None:
    never, saved = FusionCore(STREAMS, Limits(), 0), SavedCore(STREAMS, Limits())
    never.push([stream_removal(0, "p"), one(0, Row("x", 1000.0))])
    saved.save(never)
    restarted = saved.restored()
    for core in (never, restarted):
        core.push([declaration(1, "s", 20)])
    assert restarted.journal() == never.journal()
