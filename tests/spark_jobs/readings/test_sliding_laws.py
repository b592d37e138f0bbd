"""Laws of queries over readings, against the slow twin: schemes, batching, order, restarts and repetition."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.sliding.choice import SchemeChoice
from coincide.sliding.counts import ArrivalCounts, ScanCounts
from spark_jobs.core.fusion_core import FusionCore
from spark_jobs.readings.sliding_queries import SlidingQueries
from spark_jobs.records.kafka_records import InputRecord, Output
from tests.reference.silence import SlowSilence
from tests.reference.sliding import SlowSliding, recorded_answers
from tests.spark_jobs.building import STREAMS, put
from tests.spark_jobs.comparing import but_for_template_pairs
from tests.spark_jobs.readings_strategies import reading_frames, readings_queries, readings_runs
from tests.spark_jobs.strategies import SWEEPING, Pushes, split

LIMITS = replace(SWEEPING, quiet_s=15)


def answers(output: Output) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in output.episodes]


@contextmanager
def schemes_at_random(seed: int) -> Iterator[None]:
    """Choose any scheme whenever there is something to choose."""
    coin = random.Random(seed)

    def choose(
        arrived: ArrivalCounts, scanned: Sequence[ScanCounts], chosen: Sequence[SchemeChoice]
    ) -> list[SchemeChoice]:
        assert arrived.late <= arrived.readings
        return [SchemeChoice("eager" if coin.random() < 0.5 else "lazy", "drawn") for _ in scanned]

    with patch("spark_jobs.core.shard.SlidingQueries", partial(SlidingQueries, choose=choose)):
        yield


@settings(max_examples=60, deadline=None)
@given(readings_runs(), st.integers(0, 99))
def test_whatever_happens_the_answers_are_those_of_the_definition(pushes: Pushes, seed: int) -> None:
    with schemes_at_random(seed):
        core, slow = FusionCore(STREAMS, LIMITS, 0), SlowSliding(STREAMS, silence=SlowSilence(LIMITS.quiet_us))
        for batch in pushes:
            known = len(slow.answers)
            found = recorded_answers(answers(core.push(batch)))
            slow.push(batch)
            assert sorted(found) == sorted(slow.answers[known:])


@settings(max_examples=30, deadline=None)
@given(reading_frames(), readings_queries(), st.data(), st.integers(0, 99))
def test_batching_never_changes_an_answer(
    frames: list[InputRecord], query: dict[str, Any], data: st.DataObject, seed: int
) -> None:
    with schemes_at_random(seed):
        at_once, core = FusionCore(STREAMS, LIMITS, 0), FusionCore(STREAMS, LIMITS, 0)
        at_once.push([put(0, query)])
        core.push([put(0, query)])
        one_by_one = [record for batch in split(data.draw, frames, 4) for record in core.push(batch).episodes]
        assert sorted(one_by_one) == sorted(at_once.push(frames).episodes)


@settings(max_examples=25, deadline=None)
@given(readings_runs(), st.data())
def test_a_restart_changes_nothing(pushes: Pushes, data: st.DataObject) -> None:
    never, restarted = FusionCore(STREAMS, LIMITS, 0), FusionCore(STREAMS, LIMITS, 0)
    slots: dict[int, bytes] = {}
    for batch in pushes:
        assert but_for_template_pairs(restarted.push(batch)) == but_for_template_pairs(never.push(batch))
        assert restarted.header() == never.header()
        slots |= never.journal()
        for number in never.dropped_slots():
            del slots[number]
        if data.draw(st.booleans()):
            kept = data.draw(st.permutations(list(slots.values())))
            restarted = FusionCore.restore(STREAMS, LIMITS, 0, never.header(), kept)


@settings(max_examples=20, deadline=None)
@given(readings_runs())
def test_records_that_come_twice_add_no_answer(pushes: Pushes) -> None:
    once, twice = FusionCore(STREAMS, LIMITS, 0), FusionCore(STREAMS, LIMITS, 0)
    for batch in pushes:
        expected = once.push(batch)
        assert twice.push(batch).episodes == expected.episodes
        assert twice.push(batch).episodes == []
