from typing import Any

import pytest

from coincide import Stream
from coincide.errors import StreamError


def test_microseconds_are_rounded_up_and_the_delay_is_two_minutes_unless_declared() -> None:
    stream = Stream("p", max_delay_s=1.0000001, longest_template_s=0.0)
    assert (stream.max_delay_us, stream.longest_template_us) == (1_000_001, 0)
    assert Stream("p").max_delay_s == 120.0


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        *(("name", bad) for bad in ("", "-p", "p wave", "p\n", "p" * 101, 1)),
        *(("max_delay_s", bad) for bad in (-1, float("nan"), 1e9, "1", True)),
        *(("longest_template_s", bad) for bad in (-1, float("inf"))),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_field(field: str, bad: Any) -> None:
    with pytest.raises(StreamError) as refused:
        Stream(**{"name": "p", field: bad})
    assert refused.value.field == field
