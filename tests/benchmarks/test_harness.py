"""Rounds take turns, answers must agree, and ratios are those of the medians."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from benchmarks.harness.declaration import Contest, Costs, Options, Peer
from benchmarks.harness.rounds import Stopwatch, Work, fastest, take_turns


class Size(NamedTuple):
    items: int


def spending(seconds: float, answer: object = (7,)) -> Work:
    """Work that pretends to take so long."""

    def work(watch: Stopwatch) -> object:
        watch.seconds += seconds
        return answer

    return work


def test_all_take_turns_and_the_median_counts() -> None:
    order, lengths = [], iter([1.0, 10.0, 5.0, 10.0, 2.0, 10.0])

    def work(name: str) -> Work:
        def of(watch: Stopwatch) -> None:
            order.append(name)
            watch.seconds += next(lengths)

        return of

    found = take_turns({"a": work("a"), "b": work("b")}, 3, wall=False, agree=True)
    assert order == ["a", "b"] * 3
    assert [each.seconds for each in found.values()] == [2.0, 10.0]


def test_answers_that_differ_end_the_run() -> None:
    contestants = {"a": spending(1, (1, 2)), "b": spending(1, (1, 3))}
    with pytest.raises(SystemExit, match="b says"):
        take_turns(contestants, 1, wall=False, agree=True)
    take_turns(contestants, 1, wall=False, agree=False)


def test_the_fastest_plan_competes() -> None:
    plans = [spending(3), spending(1), spending(2)]
    assert fastest(plans) is plans[1]


def peers(_question: Size, _options: Options) -> Iterator[Work]:
    yield spending(3.0)
    yield spending(9.0)


def test_a_contest_says_ratios_before_seconds() -> None:
    contest = Contest(
        sizes=[Size(5)],
        quick=[Size(1)],
        question=lambda size: size,
        ours=lambda *_: [spending(2.0)],
        peers=[Peer("them", peers), Peer("absent", peers, needs="no_such_package"), Peer("rare", peers, usual=False)],
        counts="answers",
    )
    assert list(next(contest(Options())).lines()) == [
        "| items | answers | vs them | coincide s | them s |",
        "|---|---|---|---|---|",
        "| 5 | 7 | 1.5 | 2.000 | 3.000 |",
    ]
    assert next(next(contest(Options(peers=["rare"]))).lines()) == "| items | answers | vs rare | coincide s | rare s |"


def test_costs_are_of_one_item() -> None:
    costs = Costs(
        item="an item",
        ways=("this", "that"),
        sizes=[Size(4)],
        quick=[Size(1)],
        works=lambda size: [(size.items, spending(8e-6, 0.5)), (2, spending(3e-6))],
        shows="share",
    )
    assert list(next(costs(Options())).lines())[::2] == [
        "| items | this, µs an item | that, µs an item | share |",
        "| 4 | 2.00 | 1.50 | 0.5 |",
    ]
