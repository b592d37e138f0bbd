from typing import Any

import pytest

from coincide.errors import PlaceError
from coincide.places import EarthPlace, FramePlace, place_of_form


def refusal(form: object) -> str:
    with pytest.raises(PlaceError) as refused:
        place_of_form(form)
    return str(refused.value)


def test_a_form_is_of_one_kind() -> None:
    assert place_of_form({"lat": -33, "lon": 151.2, "height_m": -12}) == EarthPlace(-33, 151.2, -12)
    assert place_of_form({"x_m": 1, "y_m": 2, "z_m": 3}) == FramePlace(1, 2, 3)
    assert place_of_form({"lat": 0, "lon": 9}) == EarthPlace(0, 9)  # on the equator
    for form in ({"lat": 1, "lon": 2, "z_m": 3}, {"lat": 1}, {"x_m": 1, "lon": 2}, {}, {"lat": 1, "lon": 2, "q": 3}):
        assert refusal(form).endswith("lat, lon and, if known, height_m; or x_m, y_m and z_m in a frame of the area")
    assert refusal([1, 2]).startswith("place is [1, 2]: an object with lat, lon")


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"lat": 0, "lon": 0.0}, "missing coordinates end up"),
        ({"lat": 151.2, "lon": -33}, "are latitude and longitude swapped?"),
        ({"lat": 4258.638, "lon": 13}, "42 degrees and 58.638 minutes are 42.977300"),
        ({"lat": 42, "lon": 1321.168}, "13 degrees and 21.168 minutes are 13.352800"),
        ({"lat": "42° 58.638'", "lon": 1}, "decimal degrees: this is 42.977300"),
        ({"lat": "42 58 38.28", "lon": 1}, "decimal degrees: this is 42.977300"),
        ({"lat": "33° 51′ 30″ S", "lon": 1}, "decimal degrees: this is -33.858333"),
        ({"lat": 1, "lon": "W 13°21'10.08\""}, "decimal degrees: this is -13.352800"),
        ({"lat": 1, "lon": 1, "height_m": "120 ft"}, "a number of metres: this is 36.58"),
        ({"x_m": "10'", "y_m": 1}, "a number of metres: this is 3.05"),
        ({"lat": 1, "lon": 1, "elevation_ft": 120}, "metres, such as height_m; a foot is 0.3048 m"),
        ({"lat": 1, "lon": 1, "height_m": 310_000}, "from -800000 to 100000; a foot is 0.3048 m"),
        ({"latitude": 1, "lon": 1}, "written as lat"),
        ({"x": 1, "y": 1}, "written as x_m"),
        ({"lat": "42.1", "lon": 1}, "a number, not a text"),
        ({"lat": None, "lon": 1}, "decimal degrees north, from -90 to 90"),
        ({"lat": float("nan"), "lon": 1}, "decimal degrees north, from -90 to 90"),
        ({"lat": True, "lon": 1}, "decimal degrees north, from -90 to 90"),
        ({"lat": 1, "lon": -181}, "decimal degrees east, from -180 to 180"),
        ({"x_m": 2e7, "y_m": 1}, "metres in the area's frame, from -10000000 to 10000000"),
    ],
)
def test_each_slip_gets_a_sentence(form: Any, sentence: str) -> None:
    assert refusal(form).endswith(sentence) or sentence in refusal(form)
