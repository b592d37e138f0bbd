"""Laws of queries over readings, against the slow twin: schemes, batching, order, restarts and repetition."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.readings.source import Choose
from coincide.fusion.records.kafka_records import InputRecord
from coincide.sliding.choice import SchemeChoice
from coincide.sliding.counts import ArrivalCounts, ScanCounts
from tests.coincide.fusion.inputs import STREAMS, put
from tests.coincide.fusion.outputs import (
    SavedCore,
    assert_a_restart_changes_nothing,
    assert_repetition_adds_nothing,
    episodes,
)
from tests.coincide.fusion.strategies import SWEEPING, Pushes, reading_frames, readings_queries, readings_runs, split
from tests.examples import examples
from tests.reference.silence import SlowSilence
from tests.reference.sliding import SlowSliding, recorded_answers

LIMITS = replace(SWEEPING, quiet_s=15)


def schemes_at_random(seed: int) -> Choose:
    """Choose any scheme whenever there is something to choose."""
    coin = random.Random(seed)

    def choose(arrived: ArrivalCounts, scanned: Sequence[ScanCounts], _: Sequence[SchemeChoice]) -> list[SchemeChoice]:
        assert arrived.late <= arrived.readings
        return [SchemeChoice("eager" if coin.random() < 0.5 else "lazy", "drawn") for _ in scanned]

    return choose


@settings(max_examples=examples(60), deadline=None)
@given(readings_runs(), st.integers(0, 99))
def test_whatever_happens_the_answers_are_those_of_the_definition(pushes: Pushes, seed: int) -> None:
    core = FusionCore(STREAMS, LIMITS, 0, schemes_at_random(seed))
    slow = SlowSliding(STREAMS, silence=SlowSilence(LIMITS.quiet_us))
    for batch in pushes:
        known = len(slow.answers)
        found = recorded_answers(episodes(core.push(batch)))
        slow.push(batch)
        assert sorted(found) == sorted(slow.answers[known:])


@settings(max_examples=examples(30), deadline=None)
@given(reading_frames(), readings_queries(), st.data(), st.integers(0, 99))
def test_batching_never_changes_an_answer(
    frames: list[InputRecord], query: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    at_once, core = (FusionCore(STREAMS, LIMITS, 0, schemes_at_random(each)) for each in (seed, seed + 1))
    for each in (at_once, core):
        each.push([put(0, query)])
    one_by_one = [record for batch in split(data.draw, frames, 4) for record in core.push(batch).episodes]
    assert sorted(one_by_one) == sorted(at_once.push(frames).episodes)


@settings(max_examples=examples(25), deadline=None)
@given(readings_runs(), st.data())
def test_a_restart_changes_nothing(pushes: Pushes, data: st.DataObject) -> None:
    assert_a_restart_changes_nothing(pushes, data, LIMITS)


@settings(max_examples=examples(25), deadline=None)
@given(readings_runs(), st.data(), st.integers(0, 99))
def test_a_restart_that_measures_other_costs_changes_no_answer(pushes: Pushes, data: st.DataObject, seed: int) -> None:
    """Whatever the costs are, they only choose the schemes."""
    never, restarted = (FusionCore(STREAMS, LIMITS, 0, schemes_at_random(each)) for each in (seed, seed + 1))
    saved = SavedCore(STREAMS, LIMITS)
    for number, batch in enumerate(pushes):
        assert restarted.push(batch).episodes == never.push(batch).episodes
        assert (restarted.header(), restarted.journal()) == (never.header(), never.journal())
        saved.save(never)
        if data.draw(st.booleans()):
            restarted = saved.restored(choose=schemes_at_random(seed + number + 2))


@settings(max_examples=examples(20), deadline=None)
@given(readings_runs())
def test_records_that_come_twice_add_no_answer(pushes: Pushes) -> None:
    assert_repetition_adds_nothing(pushes, LIMITS)
