"""The schema of a place allows what the library takes for one."""

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from coincide.errors import PlaceError
from coincide.places import place_of_form
from coincide.places.place_forms import EARTH, FRAME
from coincide.wire.place_field import PlaceForm

SCHEMA = Draft202012Validator(msgspec.json.schema(PlaceForm))
BOUNDS = [0, 90, 180, 100_000, 800_000, 10_000_000]
numbers = st.sampled_from([sign * each for each in BOUNDS for sign in (1, -1)]) | st.floats(-2e7, 2e7)
kinds = st.sampled_from([EARTH[:2], EARTH, FRAME[:2], FRAME])
forms = kinds.flatmap(lambda kind: st.fixed_dictionaries(dict.fromkeys(kind, numbers)))
any_forms = st.dictionaries(st.sampled_from((*EARTH, *FRAME, "z")), numbers, max_size=4)


@given(forms | any_forms)
@example({"lat": 90, "lon": -180, "height_m": -800_000})
@example({"x_m": 10_000_000, "y_m": -10_000_000, "z_m": 0})
def test_the_schema_and_the_library_agree(form: dict[str, Any]) -> None:
    is_nowhere = form.get("lat") == form.get("lon") == 0  # which no schema says
    try:
        place_of_form(form)
    except PlaceError:
        assert is_nowhere or not SCHEMA.is_valid(form)
    else:
        assert SCHEMA.is_valid(form)
