"""What an explanation says, read aloud: units that suit, numbers rounded, and what is left out."""

from dataclasses import replace

import pytest

from coincide.queries.explaining import (
    ChanceFigures,
    EdgeFigures,
    Explanation,
    RoleFigures,
    chosen_threshold,
    sentences_of,
)
from coincide.queries.explaining.expected_work import ExpectedWork
from coincide.queries.explaining.explanation import BestPair

BEST = BestPair(("mic", "door"), "hall", 0.25)
EDGE = EdgeFigures(("a", "b"), -0.5, 0.5, 0.3, 12_345, 6_000, 6_000 / 12_345, 0.1, 0.8, BEST, False)
ROLES = (RoleFigures("a", "noise", 3, 3, 2, (), 1.0), RoleFigures("b", "knock", 1, 1, 1, ("attributes.db",), None))
CHANCE = ChanceFigures(0.002, 0.0, False, ())
WHOLE = Explanation("q", ROLES, (EDGE,), None, True, CHANCE, ExpectedWork(3.0, 0.001))


def test_roles_edges_and_work_are_said_in_plain_words() -> None:
    assert sentences_of(WHOLE) == [
        "Role a takes detections of stream noise: 3 sensors in 2 areas.",
        "Role b takes detections of stream knock: 1 sensor in 1 area. Its filter on attributes.db lets only some of "
        "these detections pass; how many is not known, so all are counted here.",
        "a and b are to happen within 0.5 s of each other: the probability is 0.8 at most (mic and door, reported "
        "0.25 s apart), and only 0.1 at most for the least exact sensors.",
        "Of the 12,300 pairs of sensors 49 % can reach the threshold 0.3.",
        "Chance alone gives about 17.5 matches a year in all areas together, if no two reports have to do with each "
        "other.",
        "In 1,000 detections chance makes 1 candidate at most that must be looked at.",
    ]


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        (0.5, "In 2 detections chance makes 1 candidate at most that must be looked at."),
        (0.98, "For each detection chance makes about 1 candidate that must be looked at."),
        (1.0, "For each detection chance makes about 1 candidate that must be looked at."),
        (2.5, "For each detection chance makes up to about 2.5 candidates that must be looked at."),
    ],
)
def test_work_is_told_for_many_detections_or_for_each(candidates: float, said: str) -> None:
    assert sentences_of(replace(WHOLE, work=ExpectedWork(3.0, candidates)))[-1] == said


@pytest.mark.parametrize(
    ("per_hour", "said"),
    [
        (9_000.0, "about 2.5 matches a second"),
        (90.0, "about 1.5 matches a minute"),
        (1.0, "about 1 match an hour"),
        (0.05, "about 1.2 matches a day"),
        (1e-6, "about 1 match in 110 years"),
        (3.6e10, "about 10 million matches a second"),
    ],
)
def test_chance_is_told_in_the_unit_that_suits_it(per_hour: float, said: str) -> None:
    told = sentences_of(replace(WHOLE, chance=replace(CHANCE, per_hour=per_hour)))
    assert any(said in sentence for sentence in told)


def test_an_upper_bound_says_what_it_leaves_out_and_a_rate_of_nothing_is_none() -> None:
    bound = ChanceFigures(2.0, 0.5, True, ("the condition on attributes.db", "that attributes.k is equal"))
    assert (
        "Chance alone gives at most 2 matches an hour in all areas together, if no two reports have to do with each "
        "other. There are fewer, as this does not count the condition on attributes.db and that attributes.k is equal."
    ) in sentences_of(replace(WHOLE, chance=bound))
    error = replace(bound, is_upper_bound=False, left_out=())
    assert any("2 matches an hour (give or take 0.5) in" in each for each in sentences_of(replace(WHOLE, chance=error)))
    assert "Chance alone gives no match." in sentences_of(replace(WHOLE, chance=ChanceFigures(0.0, 0.0, False, ())))


@pytest.mark.parametrize("threshold", [0.976, None])
def test_a_threshold_that_nothing_attains_is_no_advice(threshold: float | None) -> None:
    """Two microphones that attain 0.975, whose bangs come every few seconds, as in the demo."""
    bangs = replace(WHOLE, edges=(replace(EDGE, greatest=0.975),))
    assert chosen_threshold(threshold, 1, bangs) == (
        "No threshold that these sensors attain (0.975 at most) is so high that chance gives at most 1 match a day. "
        "All reports count here as if no two had to do with each other, those of real events too: where events are "
        "most of what is reported, chance gives far less. A shorter window, or one more sensor that has to agree, "
        "leaves less to chance."
    )


def test_a_threshold_that_some_attain_is_advised() -> None:
    assert chosen_threshold(0.7, 2, WHOLE) == "From a threshold of 0.7 on, chance gives at most 2 matches a day."


@pytest.mark.parametrize(
    ("lo_s", "hi_s", "said"),
    [
        (0.0, 9.0, "b is to happen 0 s to 9 s after a"),
        (-60.0, -0.002, "b is to happen 2 ms to 60 s before a"),
        (-7_200.0, 600.0, "b is to happen between 2 h before and 10 min after a"),
        (86_400.0, 3 * 86_400.0, "b is to happen 1 day to 3 days after a"),
    ],
)
def test_windows_with_an_order_say_which(lo_s: float, hi_s: float, said: str) -> None:
    told = sentences_of(replace(WHOLE, edges=(replace(EDGE, lo_s=lo_s, hi_s=hi_s),)))
    assert any(sentence.startswith(said) for sentence in told)


@pytest.mark.parametrize(
    ("in_all", "reaching", "said"),
    [
        (1, 1, "The only pair of sensors can reach the threshold 0.3."),
        (1, 0, "The only pair of sensors cannot reach the threshold 0.3."),
        (5, 5, "All 5 pairs of sensors can reach the threshold 0.3."),
        (5, 0, "None of the 5 pairs of sensors can reach the threshold 0.3."),
        (2_000, 3, "Of the 2,000 pairs of sensors less than 1 % can reach the threshold 0.3."),
    ],
)
def test_shares_are_said_without_false_exactness(in_all: int, reaching: int, said: str) -> None:
    edge = replace(EDGE, sensor_pairs=in_all, reaching=reaching, share=reaching / in_all)
    assert said in sentences_of(replace(WHOLE, edges=(edge,)))
