"""Streams: what may be declared."""

from __future__ import annotations

from typing import Any

import pytest

from coincide import Stream
from coincide.errors import StreamError


def test_durations_in_microseconds_are_rounded_up() -> None:
    stream = Stream("p", max_delay_s=1.0000001, longest_template_s=0.0)
    assert (stream.max_delay_us, stream.longest_template_us) == (1_000_001, 0)


def test_the_delay_is_two_minutes_unless_declared() -> None:
    assert Stream("p").max_delay_s == 120.0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "-p"}, "name"),
        ({"name": "p wave"}, "name"),
        ({"name": "p\n"}, "name"),
        ({"name": "p" * 101}, "name"),
        ({"name": 1}, "name"),
        ({"max_delay_s": -1}, "max_delay_s"),
        ({"max_delay_s": float("nan")}, "max_delay_s"),
        ({"max_delay_s": 1e9}, "max_delay_s"),
        ({"max_delay_s": "1"}, "max_delay_s"),
        ({"max_delay_s": True}, "max_delay_s"),
        ({"longest_template_s": -1}, "longest_template_s"),
        ({"longest_template_s": float("inf")}, "longest_template_s"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(StreamError) as refused:
        Stream(**{"name": "p", **fields})
    assert refused.value.field == field
