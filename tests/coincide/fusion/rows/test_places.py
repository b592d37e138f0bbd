"""Each row keeps the place that its stamp has, whatever is swept, saved and restored."""

import json

import pytest

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.places import EarthPlace, FramePlace
from coincide.places.place import Place
from tests.coincide.fusion.inputs import STREAMS, Row, frame, frame_json, put, query_json, record, started
from tests.coincide.fusion.outputs import reasons

PLACES: list[Place | None] = [FramePlace(0, 0), None, FramePlace(3, 4, 5), FramePlace(0, 0), FramePlace(-1, 0)]


def seen(number: int, at_s: float, place: Place | None, rows: int = 1) -> list[Row]:
    return [Row(f"p{number}.{nth}", at_s, sensor=f"mic-{number % 3}", place=place) for nth in range(rows)]


def kept(core: FusionCore) -> dict[str, Place | None]:
    state = core._state
    rows = state.rows.columns
    return dict(zip(rows.ids, map(state.codes.places.place, rows.place.tolist()), strict=True))


@pytest.mark.parametrize("rows", [1, 40])  # judged one by one, and in columns
def test_a_row_keeps_its_place(rows: int) -> None:
    core = started(put(0, query_json()), limits=Limits(sweep_after=2))
    for number in range(20):
        core.push([frame(number, seen(number, 1000 + number, PLACES[number % len(PLACES)], rows))])
        for id_, place in kept(core).items():
            assert place == PLACES[int(id_[1:].split(".")[0]) % len(PLACES)]
    assert len(core._state.codes.places) <= len(PLACES)


def test_places_that_no_row_has_are_forgotten() -> None:
    core = started(put(0, query_json()), limits=Limits(sweep_after=2))
    for number in range(60):
        core.push([frame(number, seen(number, 1000 + 10.0 * number, FramePlace(number, 0)))])
    assert len(core._state.codes.places) < 20
    assert all(place == FramePlace(int(id_[1:].split(".")[0]), 0) for id_, place in kept(core).items())


def test_a_state_that_is_restored_has_the_same_places() -> None:
    core, slots = started(put(0, query_json())), dict[int, bytes]()
    places: list[Place | None] = [EarthPlace(54, 8, 3), None, EarthPlace(54, 9)]
    for number, place in enumerate(places):
        core.push([frame(number, seen(number, 1000 + number, place))])
        slots |= core.journal()
    again = FusionCore.restore(STREAMS, Limits(), 0, core.header(), [slots[each] for each in core.live_slots()])
    assert kept(again) == kept(core) == {f"p{number}.0": place for number, place in enumerate(places)}


def test_a_place_that_is_none_is_refused_with_what_is_allowed() -> None:
    content = frame_json(seen(0, 1000, FramePlace(1, 2)) + seen(1, 1000, None))
    content["stamps"][0]["place"] = {"lat": 95, "lon": 8}
    output = started().push([record(0, content)])
    [letter] = [json.loads(each.value) for each in output.dead_letters]
    assert letter["reason"] == "malformed_detection"
    assert "place.lat is 95" in letter["detail"]
    assert letter["record"]


def test_a_detection_that_comes_again_from_another_place_is_another() -> None:
    core = started(put(0, query_json()))
    row = Row("a", 1000, Histogram.point(), place=FramePlace(0, 0))
    assert reasons(core.push([frame(0, [row]), frame(1, [row])])) == []
    assert reasons(core.push([frame(2, [Row("a", 1000, Histogram.point(), place=FramePlace(9, 0))])])) == ["conflict"]
