"""A stage has the time that its functions take for themselves; what was renamed or is not called is an error."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.line.one_process import Load, one_process
from benchmarks.line.stage_clock import Stage, StageClock
from benchmarks.line.stages import STAGES, Cost, Run, beyond, table
from benchmarks.line.threads import INGEST, JVM, REST, WORKER, Part, Sample, spent_s, what_java_does

HERE = "tests.benchmarks.test_stages:Work"


class Clock:
    """Goes on by what the work says."""

    now_ns = 0


class Work:
    """Functions that take 1, 10 and 100 ns themselves."""

    def outer(self) -> int:
        Clock.now_ns += 1
        answer = self.inner() + sum(self.answers())
        Clock.now_ns += 1
        return answer

    def inner(self) -> int:
        Clock.now_ns += 10
        return 1

    def answers(self) -> Iterator[int]:
        for _ in range(3):
            Clock.now_ns += 100
            yield self.inner()

    async def awaits(self) -> None:
        """Nothing that could be timed."""


def stage(*names: str) -> Stage:
    return Stage("process", names[0], tuple(f"{HERE}.{name}" for name in names))


def test_a_stage_has_its_own_time_without_that_of_the_stages_within() -> None:
    all_stages = outer, inner, answers = stage("outer"), stage("inner"), stage("answers")
    clock = StageClock(lambda: Clock.now_ns)
    with clock.running(all_stages):
        assert Work().outer() == 4
    assert clock.ns == {outer: 2, inner: 40, answers: 300}


def test_what_is_no_stage_belongs_to_the_one_around_it() -> None:
    clock = StageClock(lambda: Clock.now_ns)
    with clock.running([stage("outer")]):
        Work().outer()
    assert clock.ns == {stage("outer"): 342}


def test_afterwards_nothing_is_timed() -> None:
    before, clock = Work.outer, StageClock(lambda: Clock.now_ns)
    with pytest.raises(AttributeError), clock.running([stage("outer"), stage("inner")]):
        Work().gone()  # type: ignore[attr-defined]
    assert Work.outer is before


def test_a_stage_that_nothing_called_ends_the_run() -> None:
    with pytest.raises(SystemExit, match="answers"), StageClock().running([stage("outer"), stage("answers")]):
        pass


@pytest.mark.parametrize(
    "function", [f"{HERE}.renamed", "tests.benchmarks.test_stages:Gone.outer", "tests.benchmarks.gone:Work.outer"]
)
def test_a_function_that_is_not_there_is_an_error(function: str) -> None:
    with (
        pytest.raises((AttributeError, ModuleNotFoundError)),
        StageClock().running([Stage("process", "name", (function,))]),
    ):
        pass


def test_a_function_that_awaits_is_no_stage() -> None:
    with pytest.raises(TypeError, match="awaits"), StageClock().running([stage("awaits")]):
        pass


def test_every_stage_is_called_on_the_way_to_the_live_stream(tmp_path: Path) -> None:
    async def matches() -> int:
        async with one_process(tmp_path, max_delay_s=10) as line:
            with StageClock().running(STAGES):
                for batch in Load(rate=10_000, detections_a_post=20, posts_a_batch=2).batches(100):
                    await line.carry(batch)
        return line.readers.matches

    assert asyncio.run(matches()) == 5


def test_threads_have_what_they_used_and_the_rest_is_what_ended() -> None:
    tasks, rest = Part(JVM, "tasks"), Part(JVM)
    before = Sample({1: (rest, 10.0)}, {(1, 1): (rest, 4.0), (1, 2): (tasks, 5.0)})
    after = Sample({1: (rest, 20.0), 7: (Part(WORKER), 2.0)}, {(1, 1): (rest, 5.0), (1, 3): (tasks, 6.0)})
    assert spent_s(before, after) == {tasks: 6.0, rest: 4.0, Part(WORKER): 2.0}


@pytest.mark.parametrize(
    ("thread", "does"),
    [("Executor task l", "tasks"), ("stream executio", "planning"), ("C2 CompilerThre", "compiler"), ("java", REST)],
)
def test_java_says_what_its_threads_do(thread: str, does: str) -> None:
    assert what_java_does(thread).startswith(does)


def test_what_a_process_takes_beyond_its_stages_is_one_row() -> None:
    run = Run({Part(WORKER): 10.0, Part(JVM, "tasks"): 5.0}, posts_a_batch=3.0)
    decode = Cost(WORKER, "decode", 4.0)
    assert beyond(run, [decode]) == [Cost(WORKER, REST, 6.0), Cost(JVM, "tasks", 5.0)]


def test_the_table_adds_up() -> None:
    costs = [Cost(WORKER, "decode", 4.0), Cost(INGEST, "parse", 1.0)]
    assert [*table(costs).rows] == [
        [INGEST, "parse", "1.00", "20%"],
        [WORKER, "decode", "4.00", "80%"],
        ["all", "", "5.00", "100%"],
    ]
