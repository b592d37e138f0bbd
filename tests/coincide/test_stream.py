from dataclasses import replace
from typing import Any

import pytest

from coincide import Histogram, Stream
from coincide.errors import StreamError


def test_microseconds_are_rounded_up_and_the_delay_is_two_minutes_unless_declared() -> None:
    stream = Stream("p", max_delay_s=1.0000001, longest_template_s=0.0)
    assert (stream.max_delay_us, stream.longest_template_us) == (1_000_001, 0)
    assert Stream("p").max_delay_s == 120.0


def test_the_longest_template_follows_from_those_declared() -> None:
    clock, microphone = Histogram.point(), Histogram.uniform(-2, 1)
    stream = Stream("p", templates=[clock, microphone, clock])
    assert (stream.longest_template_s, stream.templates) == (3.0, (clock, microphone))
    assert replace(stream, max_delay_s=5) == Stream("p", 5, templates=(clock, microphone)) != Stream("p", 5, 3)


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        *(("name", bad) for bad in ("", "-p", "p wave", "p\n", "p" * 101, 1)),
        *(("max_delay_s", bad) for bad in (-1, float("nan"), 1e9, "1", True)),
        *(("longest_template_s", bad) for bad in (-1, float("inf"))),
        *(("templates", bad) for bad in ([], Histogram.point(), [Histogram.point(), None], "uniform")),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_field(field: str, bad: Any) -> None:
    with pytest.raises(StreamError) as refused:
        Stream(**{"name": "p", field: bad})
    assert refused.value.field == field
