"""What one accepted query may cost the core: the worst inputs, each with a bound on what memory holds and on time.

Time is counted by calls of a clock on which each look takes a second; memory by what Python and numpy allocate.
"""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from coincide.fusion.control.host import Host
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import Output
from tests.coincide.fusion.inputs import STREAMS, Row, frame, put, query_json
from tests.coincide.fusion.outputs import episodes, matches, status

MEGABYTE = 1_000_000
AWAKE: dict[str, Any] = {"id": "awake", "coalesce": {"from": "p", "by": "sensor", "value": "attributes.awake"}}
AWAKE |= {"coalesce": AWAKE["coalesce"] | {"window": {"time_s": 1, "slide_s": 1}}, "longest": True}


def windows(**more: Any) -> dict[str, Any]:
    """Return a query that answers 10,000 windows for each reading."""
    window = {"time_s": 1000, "slide_s": 0.2}
    coalesce = {"from": "p", "by": "attributes.unit", "value": "attributes.level", "window": window, "hold_s": 1000}
    return {"id": "wild", "coalesce": coalesce, **more}


ALIKE = windows(join={"within": 0.5, "lasting_s": 0.1})
QUESTIONS = {"alike": ALIKE, "longest": windows(longest=True), "lasting": windows(lasting_s=0.1)}

END = (("unit", "late"), ("level", 9))


def readings(groups: int) -> list[Row]:
    return [
        Row(
            f"r{nth}",
            1000 + 1000 * nth / groups,
            attributes=(("unit", f"u{nth}"), ("level", 1 + nth % 2 / 4), ("awake", True)),
        )
        for nth in range(groups)
    ]


@contextmanager
def allocated(most: int) -> Iterator[None]:
    tracemalloc.start(1)
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most


def after_all(core: FusionCore, groups: int) -> Output:
    """Post the readings, and one that ends all of their windows."""
    return core.push([frame(0, [*readings(groups), Row("end", 9000, attributes=END)])])


def suspended(output: Output, query: str = "wild") -> dict[str, Any]:
    found: dict[str, Any] = status(output)["queries"][query].get("suspended", {})
    return found


@pytest.mark.parametrize("groups", [40, 300])
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_windows_without_number_suspend_their_query_before_they_are_made(question: dict[str, Any], groups: int) -> None:
    """40 readings of 4.8 kB ask for eight million rows, 300 for half a thousand million."""
    core = FusionCore(STREAMS, Limits(), 0)
    core.push([put(0, question), put(1, AWAKE)])
    with allocated(400 * MEGABYTE):
        output = after_all(core, groups)
    why = suspended(output)[""]
    assert (why["limit"], why["allowed"]) == ("max_window_answers", 250_000)
    assert why["reached"] > 250_000
    assert {each["query"] for each in episodes(output)} == {"awake"}


def test_windows_that_hold_much_and_answer_little_are_looked_at_in_blocks() -> None:
    """3,000 runs of one unit in 5,000 windows each are 15 million rows, which make one answer a window."""
    core = FusionCore(STREAMS, Limits(max_push_s=100), 0, clock_s=(ticks := Ticks()))
    core.push([put(0, windows(longest=True)), put(1, AWAKE)])
    runs = [Row(f"r{nth}", 1000 + nth / 3, attributes=(("unit", "u"), ("level", nth % 2))) for nth in range(3000)]
    with allocated(400 * MEGABYTE):
        output = core.push([frame(0, [*runs, Row("end", 9000, attributes=END)])])
    assert suspended(output)[""]["limit"] == "max_query_s"
    assert ticks.now < 60


class Ticks:
    """A clock on which each look takes a second."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_queries_that_are_all_dear_share_the_time_of_a_push() -> None:
    """Each looks at the clock again and again: twelve that may take four seconds each take some fifteen together."""
    clock = (number / 10 for number in count())
    core = FusionCore(STREAMS, Limits(max_query_s=4), 0, clock_s=lambda: next(clock))
    core.push([put(nth, query_json(name=f"dear{nth}")) for nth in range(12)])
    rows = [Row(f"{stream}{nth}", 1000, stream=stream) for nth in range(30) for stream in "ps"]
    began_s = next(clock)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coincide.fusion.kinds.query_turns.RECORDS_AT_ONCE", 1)
        output = core.push([frame(0, rows)])
    assert next(clock) - began_s < 25
    limits = [suspended(output, f"dear{nth}")[""]["limit"] for nth in range(12)]
    assert limits == ["max_query_s", *["max_push_s"] * 11]
    assert matches(output) == []


def test_a_query_without_memory_is_suspended_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    core = FusionCore(STREAMS, Limits(), 0)
    core.push([put(0, ALIKE), put(1, AWAKE)])
    monkeypatch.setattr("coincide.sliding.questions.join_in_windows", _no_memory)
    output = after_all(core, 3)
    why = suspended(output)[""]
    assert (why["limit"], why["allowed"], why["reached"]) == ("memory", None, None)
    assert {each["query"] for each in episodes(output)} == {"awake"}


def test_a_query_at_which_workers_died_is_suspended_and_what_is_at_work_is_told() -> None:
    core, told = FusionCore(STREAMS, Limits(), 0), list[str]()
    core.push([put(0, ALIKE), put(1, AWAKE)])
    host = Host(fatal={"wild"}, at_work=told.append)
    output = core.push([frame(0, [*readings(3), Row("end", 9000, attributes=END)])], host)
    assert suspended(output)[""]["limit"] == "memory"
    assert {each["query"] for each in episodes(output)} == {"awake"}
    assert told == ["awake", ""]


def _no_memory(*_: object, **__: object) -> None:
    raise MemoryError


def test_a_query_at_work_is_left_once_a_person_has_removed_it() -> None:
    core = FusionCore(STREAMS, Limits(max_window_answers=10**9), 0)
    core.push([put(0, windows(longest=True)), put(1, AWAKE)])
    looks = count()

    def ahead() -> dict[str, int]:
        return {"wild": 2} if next(looks) > 5 else {}

    output = core.push([frame(0, [*readings(40), Row("end", 9000, attributes=END)])], Host(ahead))
    assert {each["query"] for each in episodes(output)} == {"awake"}
    assert suspended(output) == {}
