"""Where a source was, in words and as a drawing."""

import json
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec
import pytest
from nicegui import ui

from coincide.places import FramePlace
from coincide.wire.results.source_place import PointRecord
from services.console.drawing import plan, source_map
from services.console.drawing.source_map import MetreFrame, draw_source
from services.console.pages.place_words import residual_words, where_words
from services.console.rest.documents import MatchAnswer
from tests.coincide.catalogue.test_catalogues import QUAKE, STATIONS, body

OTHERS = {"query_version": 1, "probability": 0.5, "earliest_us": 0, "latest_us": 1, "received_at_us": 2}


def match_of(quake: dict[str, Any]) -> MatchAnswer:
    placed = [{"lat": each.coordinates[0], "lon": each.coordinates[1], "height_m": 0.0} for each in STATIONS]
    members = [{**member, "place": place} for member, place in zip(quake["members"], placed, strict=True)]
    return msgspec.json.decode(json.dumps({**quake, **OTHERS, "members": members}), type=MatchAnswer)


@dataclass
class Drawn:
    """Takes what a page's element takes."""

    kind: str
    props: Any = None
    held: list[str] = field(default_factory=list)

    def classes(self, _names: str) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Props(dict[str, str]):
    """Properties, which may be given as a text, too."""

    def __init__(self, of: Drawn) -> None:
        super().__init__()
        self.of = of

    def __call__(self, _text: str) -> Drawn:
        return self.of


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    found: list[Drawn] = []

    def element(kind: str) -> Drawn:
        one = Drawn(kind)
        one.props = Props(one)
        found.append(one)
        return one

    monkeypatch.setattr(ui, "element", element)
    for module in (plan, source_map):
        monkeypatch.setattr(module, "PlanText", lambda *_: None)
    return found


def test_the_region_and_the_sensors_lie_on_the_map(drawn: list[Drawn]) -> None:
    match = match_of(QUAKE)
    assert match.place is not None
    draw_source(match.place, match.members, where_words(match.place))
    cells = [each.props for each in drawn if each.kind == "rect"]
    assert len(cells) == len(match.place.cells.at)
    for cell in cells:
        assert 0 <= float(cell["x"]) <= float(cell["x"]) + float(cell["width"]) <= plan.WIDE
        assert 0 <= float(cell["y"]) <= float(cell["y"]) + float(cell["height"]) <= plan.TALL
    sensors = [each.props for each in drawn if each.kind == "circle"]
    assert [float(each["cx"]) for each in sensors] == sorted(float(each["cx"]) for each in sensors)  # from west to east
    assert len({(each["cx"], each["cy"]) for each in sensors}) == len(STATIONS)


def test_words_say_where_and_how_well_that_is_known() -> None:
    match = match_of(QUAKE)
    assert match.place is not None
    said = where_words(match.place)
    assert said.startswith("One source explains the times, with 90 %. Most probably it was at 42.")
    assert "° N, 13." in said
    assert " km deep; with 90 % in an ellipse of " in said
    hall = match_of(body([FramePlace(9000 * (nth % 2), 7000 * nth) for nth in range(5)]))
    assert hall.place is not None
    assert "in the frame of the area" in where_words(hall.place)
    assert residual_words(-0.0123) == "12.3 ms earlier than from there"
    assert residual_words(2.5) == "2.5 s later than from there"


def test_metres_go_the_short_way_round_the_earth() -> None:
    east_m, north_m = MetreFrame.at(PointRecord(lat=0.0, lon=179.99, height_m=0.0)).metres(0.01, -179.99)
    assert (east_m, north_m) == pytest.approx((2226.4, 1113.2))
