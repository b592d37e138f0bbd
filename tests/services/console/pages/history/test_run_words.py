"""What a run's sentences say."""

from typing import Any

import pytest
from msgspec import convert

from services.console.pages.history.run_words import no_numbers_of
from services.console.rest.run_answers import RunAnswer

REQUEST: dict[str, Any] = {"query": {"id": "hot"}, "from_us": 0, "to_us": 9, "source": "archive", "as_live": False}


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({}, ""),
        ({"no_number": 0}, ""),
        ({"no_number": 1}, "1 value is no number, where the query needs one."),
        ({"no_number": 1_200}, "1,200 values are no numbers, where the query needs one."),
    ],
)
def test_a_run_tells_values_that_are_no_number(told: dict[str, int], sentence: str) -> None:
    summary = {"run": "r-1", "state": "done", "started_at_us": 0, "request": REQUEST, **told}
    assert no_numbers_of(convert(summary, RunAnswer)) == sentence
