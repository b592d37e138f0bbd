"""Queries by distance are explained by the windows of the sensors that are known."""

from typing import Any

import pytest

from coincide import Histogram
from coincide.places import FramePlace
from coincide.places.place import Place
from coincide.queries import Query
from coincide.queries.explaining import KnownSensor, explain, sentences_of, unreachable_because

SOUND = {"speed_m_s": 343, "slack_s": 0.2, "up_to_m": 5000}


def query(**more: Any) -> Query:
    within = [{"between": ["a", "b"], **SOUND, "threshold": 0.5}]
    return Query.from_json({"id": "bang", "from": {"a": "noise", "b": "noise"}, "within": within, **more})


def sensors(*places: Place | None) -> list[KnownSensor]:
    clock = Histogram.uniform(-1, 1)
    return [KnownSensor(f"mic-{nth}", "bay", "noise", clock, 0.01, place) for nth, place in enumerate(places)]


@pytest.mark.parametrize(("rule", "least_s"), [("different", 1.2), ("any", 0.2)])
def test_windows_are_told_from_the_shortest_to_the_longest(rule: str, least_s: float) -> None:
    known = sensors(FramePlace(0, 0), FramePlace(343, 0), FramePlace(0, 1029), FramePlace(9000, 0))
    told = explain(query(sensors=rule), known)
    assert told.distance is not None
    assert (told.distance.least_s, told.distance.greatest_s) == (least_s, 3.363)  # 0 to 1029 and 343 are 1085 m apart
    assert (told.edges[0].lo_s, told.edges[0].hi_s) == (-3.363, 3.363)
    assert any(f"from {least_s:g} s to 3.363 s" in each for each in sentences_of(told))


def test_sensors_without_a_place_are_told_and_a_query_that_has_no_others_is_out_of_reach() -> None:
    some = explain(query(), sensors(FramePlace(0, 0), FramePlace(343, 0), None))
    assert any("1 of 3 sensors have no place" in each for each in sentences_of(some))
    assert unreachable_because(some) is None
    none = explain(query(), sensors(None, None))
    assert none.lacks_places
    assert "none of 2 sensors has a place" in (unreachable_because(none) or "")


def test_a_query_of_fixed_windows_tells_nothing_of_distances() -> None:
    within = [{"between": ["a", "b"], "window_s": 2, "threshold": 0.5}]
    fixed = Query.from_json({"id": "bang", "from": {"a": "noise", "b": "noise"}, "within": within})
    assert explain(fixed, sensors(FramePlace(0, 0), None)).distance is None
