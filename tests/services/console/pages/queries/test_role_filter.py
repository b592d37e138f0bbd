"""What a form shows of a role's filter is what the query says, and says it again."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from services.console.pages.queries.forms.role_filter_form import conditions_of, text_of, value_in, where_of

TEXTS = st.text(st.characters(exclude_characters=",", exclude_categories=["Cs"]), min_size=1, max_size=20).map(
    str.strip
)
NUMBERS = st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9)
VALUES = TEXTS.filter(bool) | NUMBERS | st.booleans()


@given(VALUES)
def test_a_value_is_shown_and_read_again(value: Any) -> None:
    assert value_in("is", text_of("is", value)) == value
    assert type(value_in("is", text_of("is", value))) is type(value)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_some_values_are_shown_and_read_again(values: list[Any]) -> None:
    assert value_in("in", text_of("in", values)) == values


def test_what_looks_like_a_number_and_is_text_has_quotes() -> None:
    assert [text_of("is", value) for value in ("5", 5, "true", True, "flash")] == [
        '"5"',
        "5",
        '"true"',
        "true",
        "flash",
    ]
    assert value_in("is", "NaN") == "NaN"


@given(st.dictionaries(TEXTS.filter(bool), st.just({"above": 1, "at_most": 2}) | st.just({"is": "x"}), max_size=4))
def test_conditions_are_those_of_the_query(tests: dict[str, Any]) -> None:
    where = {f"attributes.{name}": each for name, each in tests.items()}
    assert where_of([list(each) for each in conditions_of(where)]) == where


def test_what_is_no_filter_has_no_conditions() -> None:
    assert conditions_of(None) == conditions_of(7) == conditions_of({"attributes.x": 3}) == []
