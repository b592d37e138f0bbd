"""What is said of time slides: the figures that the run has, beside those of the formula."""

from typing import Any

import pytest
from msgspec import convert

from services.console.pages.history.run_words import kind_of
from services.console.pages.slide_words import chance_by_slides, exact_slides
from services.console.rest.run_answers import RunAnswer

REQUEST = {
    "query": {"id": "pair"},
    "from_us": 0,
    "to_us": 86_400_000_000,
    "source": "archive",
    "as_live": False,
    "slides": 100,
}
SLIDES: dict[str, Any] = {
    "slides": 100,
    "chance_per_day": 1_584.0,
    "interval_per_day": [1_536.0, 1_632.0],
    "chance": 132.0,
    "matches": 150,
    "recorded_s": 7_200.0,
    "areas": 1,
    "areas_left_out": 0,
    "least_shift_s": 20.0,
    "clumping": 1.0,
    "slides_overlap": False,
}
CURVE = [{"threshold": 0.1, "matches": 900, "chance": 700.0}, {"threshold": 0.3, "matches": 150, "chance": 130.6}]
BEGUN = "At the query's own threshold 100 time slides give 132 matches by chance, 128 to 136 with 90 %"
DAILY = "That is 1,584 a day of recorded time, 1,536 to 1,632."


def run(**told: Any) -> RunAnswer:
    known = {"run": "r-1", "state": "done", "started_at_us": 0, "request": REQUEST, "own_threshold": 0.3}
    return convert({**known, "curve": CURVE, **told}, RunAnswer)


@pytest.mark.parametrize(
    ("told", "sentences"),
    [
        ({}, ""),
        ({"slides": None}, ""),
        ({"slides": SLIDES}, f"{BEGUN}; the formula gives 131. {DAILY}"),
        ({"slides": SLIDES, "curve": []}, f"{BEGUN}. {DAILY}"),
        (
            {"slides": SLIDES, "curve": [{**CURVE[1], "chance_is_upper_bound": True}]},
            f"{BEGUN}; the formula gives at most 131. {DAILY}",
        ),
        (
            {"slides": {**SLIDES, "slides_overlap": True, "areas_left_out": 1}},
            f"{BEGUN}; the formula gives 131. {DAILY} The range is short for so many slides: the interval is rather "
            "too narrow. 1 area was recorded for too short a time, and left out.",
        ),
        (
            {"slides": {**SLIDES, "slides": 1, "chance": 1.0, "chance_per_day": 12.0, "interval_per_day": [0.6, 57.0]}},
            "At the query's own threshold 1 time slide gives 1 match by chance, 0.05 to 4.75 with 90 %; the formula "
            "gives 131. That is 12 a day of recorded time, 0.6 to 57.",
        ),
        ({"slides": None, "slides_unknown": "time slides: no area has"}, "Time slides: no area has."),
    ],
)
def test_chance_by_slides_is_said_beside_the_formula(told: dict[str, Any], sentences: str) -> None:
    assert chance_by_slides(run(**told)) == sentences


def test_where_no_slide_has_a_match_the_interval_is_that_of_the_recorded_time() -> None:
    none = {**SLIDES, "chance": 0.0, "chance_per_day": 0.0, "interval_per_day": [0.0, 0.36], "recorded_s": 14_400.0}
    [found] = [each for each in [run(slides={**none, "areas": 2}).slides] if each is not None]
    assert found.interval == pytest.approx((0.0, 0.03))


def test_who_points_at_it_sees_the_figures() -> None:
    assert exact_slides(run(slides=SLIDES)) == "by chance 132.0, a day 1584.0, at least 1536.0, at most 1632.0"
    assert exact_slides(run()) == ""


def test_a_run_with_slides_is_told_from_one_without() -> None:
    assert kind_of(run().request) == "complete, from the archive, 100 time slides"
