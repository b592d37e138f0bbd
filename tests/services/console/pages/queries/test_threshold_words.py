"""What a threshold gives, in a sentence: of the range as it is, and a day where the range is longer."""

from services.console.pages.queries.past_runs import PastMatch
from services.console.pages.queries.threshold_words import DAY_US, changes, sentence_of
from services.console.rest.run_answers import CurvePointAnswer

CURVE = [
    CurvePointAnswer(0.3, 700, 70, 14.0),
    CurvePointAnswer(0.5, 84, 28, 0.7),
    CurvePointAnswer(0.9, 1, 1, 0.0),
]


def test_a_day_or_less_is_said_as_it_is() -> None:
    assert sentence_of(CURVE, 0.5, 0.3, DAY_US) == (
        "At 0.30: 700 matches in 24 h instead of 84, 70 episodes; by chance alone there would be 14."
    )
    assert (
        sentence_of(CURVE, 0.5, 0.5, DAY_US // 2)
        == "At 0.50: 84 matches in 12 h, 28 episodes; by chance alone there would be 0.7."
    )


def test_of_more_than_a_day_each_number_is_said_a_day_too() -> None:
    assert sentence_of(CURVE, 0.5, 0.3, 7 * DAY_US) == (
        "At 0.30: 700 matches in 7 days (100 a day) instead of 84 (12 a day), 70 episodes (10 a day); "
        "by chance alone there would be 14."
    )


def test_what_a_run_does_not_know_is_left_out() -> None:
    [point] = [CurvePointAnswer(0.6, 1)]
    assert sentence_of([point], 0.5, 0.6, DAY_US) == "At 0.60: 1 match in 24 h instead of 1."
    assert sentence_of([point], 0.5, 0.7, DAY_US) == "At 0.70: the run does not say."


def test_a_higher_threshold_may_bring_the_matches_that_a_larger_one_superseded() -> None:
    pair, near, triple = (PastMatch(id_, value, 0, 1, "bay") for id_, value in (("p", 0.9), ("n", 0.6), ("t", 0.4)))
    assert changes([triple], [pair, near], 0.5) == ([near, pair], [triple])
    assert changes([pair, near], [triple], 0.3) == ([triple], [near, pair])
    assert changes([pair], [pair], 0.95) == ([], [])
