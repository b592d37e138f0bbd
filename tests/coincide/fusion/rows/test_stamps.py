"""What is remembered of stamps changes no answer, whatever has been forgotten or given another code since."""

import pytest

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from coincide.fusion.rows import stamps
from tests.coincide.fusion.inputs import Row, frame, put, query_json, started
from tests.coincide.fusion.outputs import pairs, reasons

TEMPLATES = [Histogram.uniform(-0.1 * (1 + nth), 0) for nth in range(4)]


def seen(at_s: float, sensor: str = "north", template: Histogram = TEMPLATES[0]) -> list[Row]:
    return [
        Row(f"p{at_s}", at_s, template, "p", sensor),
        Row(f"s{at_s}", at_s + 0.5, template, "s", sensor),
    ]


@pytest.mark.parametrize("most_bytes", [0, 1000, stamps.MOST_CACHED_BYTES])
def test_stamps_mean_the_same_after_codes_were_given_to_others(
    most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamps, "MOST_CACHED_BYTES", most_bytes)
    core = started(put(0, query_json()), limits=Limits(sweep_after=1))
    for number in range(40):  # each is swept before the one after the next comes
        at_s = 1000 + 100.0 * number
        rows = seen(at_s, f"sensor-{number * number % 5}", TEMPLATES[number * number % 4])
        assert pairs(core.push([frame(number, rows)])) == [(f"p{at_s}", f"s{at_s}")]


def test_a_stamp_is_refused_as_often_as_it_comes() -> None:
    core = started()
    row = Row("a", 1000.0, stream="undeclared")
    assert [reasons(core.push([frame(number, [row])])) for number in range(3)] == [["unknown_stream"]] * 3
    assert reasons(core.push([frame(3, [Row("b", 1000.0)])])) == []
