"""Both lines tell the same of the same log, record by record, however it is cut into batches and who is killed when.

The line in one process is the engine's thread over a log in a file. Spark's is the shard that it keeps between
batches. Beside both stand one engine that gets everything in order and is never killed, and definitions that know
nothing of it: the slow twin of random logs, and the oracle of the real morning.
"""

import random
from collections import Counter
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.control.limits import Limits
from tests.coincide.fusion.inputs import STREAMS, Row, frame, poisson_frames, put, query_json
from tests.coincide.fusion.outputs import slow_match
from tests.coincide.fusion.strategies import SWEEPING, Pushes, runs
from tests.examples import examples
from tests.reference import central_italy
from tests.reference.fusion import SlowFusion
from tests.services.line import morning
from tests.services.line.fused_logs import MEMORY, Fault, wait_until_taken
from tests.services.line.hosts import (
    assert_same,
    last_episodes,
    logged,
    one_process,
    told_by_replay,
    told_by_spark,
    told_in,
)


@settings(max_examples=examples(30), deadline=None)
@given(
    runs(),
    st.integers(1, 5),
    st.lists(st.sampled_from(["before", "after", None, None]), max_size=20),
    st.lists(st.integers(1, 4), min_size=1, max_size=8),
)
def test_random_logs(pushes: Pushes, most_records: int, fails: list[Fault], cuts: list[int]) -> None:
    """Rows are late, queries and streams change, and a process may be killed between any two appends."""
    with (
        TemporaryDirectory(dir=MEMORY) as folder,
        one_process(Path(folder), most_records, fails, STREAMS, SWEEPING) as (log, thread),
    ):
        taken, slow = [], SlowFusion(dict(STREAMS))
        for push in filter(None, pushes):
            taken.append(logged(log, push))
            wait_until_taken(log, thread)
            slow.push(taken[-1])
        told = told_in(log)
    cores = FusionCores(STREAMS, SWEEPING)
    assert_same(told, told_by_replay(cores, taken))
    assert_same(told, told_by_spark(cores, taken, cycle(cuts)))
    assert sorted(map(slow_match, told["matches"])) == sorted(slow.matches)
    letters = [each for each in told["dead-letters"] if each["reason"] == "late"]
    assert sorted((each["sensor"], each["id"], each["late_by_us"]) for each in letters) == sorted(slow.late)
    event(f"some match: {bool(told['matches'])}")
    event(f"some late: {bool(letters)}")


@settings(max_examples=4, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(st.sampled_from(["before", "after", None, None]), max_size=20),
    st.lists(st.integers(1, 4), min_size=1, max_size=8),
)
def test_evidence(most_records: int, fails: list[Fault], cuts: list[int]) -> None:
    """It waits in the state while processes are killed, and each match gets its own."""
    clock = Histogram.uniform(-1, 0.5)
    sensors = [("north", "p", clock, 0.2), ("south", "s", clock, 0.2), ("east", "s", clock, 0.1)]
    query = {**query_json(threshold=0.2, sensors="different"), "event": {"per_day": 2_000, "heard_by": 0.8}}
    frames = poisson_frames(np.random.default_rng(7), sensors, 300)
    after = frame(len(frames), [Row("after", 2e6)])
    with (
        TemporaryDirectory(dir=MEMORY) as folder,
        one_process(Path(folder), most_records, fails, STREAMS, SWEEPING) as (log, thread),
    ):
        taken = []
        for push in ([put(0, query)], frames, [after]):
            taken.append(logged(log, push))
            wait_until_taken(log, thread)
        told = told_in(log)
    cores = FusionCores(STREAMS, SWEEPING)
    assert_same(told, told_by_replay(cores, taken))
    assert_same(told, told_by_spark(cores, taken, cycle(cuts)))
    assert {each["id"] for each in told["evidence"]} == {each["id"] for each in told["matches"]}
    assert len({each["posterior"] for each in told["evidence"]}) > 20


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.night), pytest.param(3, marks=pytest.mark.night)]
)
def test_the_real_morning(seed: int, tmp_path: Path) -> None:
    """An hour of it out of order, while a query and a template change; some come a quarter of an hour late."""
    if reason := central_italy.why_absent():
        pytest.skip(reason)
    chosen = random.Random(seed)
    pushes, picked = morning.pushes(chosen)
    fails: list[Fault] = [chosen.choice(("before", "after", None, None)) for _ in range(60)]
    with (
        TemporaryDirectory(dir=MEMORY) as folder,
        one_process(Path(folder), 3, fails, morning.STREAMS, Limits()) as (log, thread),
    ):
        taken = []
        for push in pushes:
            taken.append(logged(log, push))
            wait_until_taken(log, thread)
        told = told_in(log)
    cores = FusionCores(morning.STREAMS, Limits())
    assert_same(told, told_by_replay(cores, taken))
    assert_same(told, told_by_spark(cores, taken, cycle([chosen.randint(1, 9) for _ in range(10)])))
    assert Counter(each["reason"] for each in told["dead-letters"]) == {"late": morning.LATE}
    assert len(last_episodes(told["episodes"])) > 20
    late = {each["id"] for each in told["dead-letters"]}
    morning.assert_as_defined(told["matches"], [each for each in picked if each.id not in late])
