import math
import pickle
from typing import Any

import pytest

from coincide import Stream, TimingJoin, Window
from coincide.errors import WindowError


def test_a_half_width_is_symmetric_and_closed() -> None:
    window = Window(5.0)
    assert (window.lo_s, window.hi_s) == (-5.0, 5.0)
    assert (window.lo_us, window.hi_us) == (-5_000_000, 5_000_000)
    assert window.is_symmetric
    assert window == Window(lo_s=-5, hi_s=5)
    assert Window(0.3).hi_us == 300_000  # the nearest microsecond


def test_bounds_need_not_be_symmetric_nor_around_zero() -> None:
    window = Window(lo_s=1.0, hi_s=9.0)
    assert not window.is_symmetric
    assert window.swapped() == Window(lo_s=-9.0, hi_s=-1.0)


def test_equal_windows_look_equal_and_survive_pickling() -> None:
    assert repr(Window(0.0)) == "Window(lo_s=0.0, hi_s=0.0)"
    assert hash(Window(2)) == hash(Window(lo_s=-2.0, hi_s=2.0))
    assert pickle.loads(pickle.dumps(Window(2.0))) == Window(2.0)


def test_an_open_window_reads_as_it_is_written() -> None:
    assert repr(Window.deadline(1)) == "Window.deadline(1.0)"
    assert repr(Window.delay(-2.5)) == "Window.delay(-2.5)"
    with pytest.raises(WindowError, match=r"window is Window.deadline\(1.0\): closed at both ends in a stream"):
        TimingJoin(Stream("x"), Stream("y"), Window.deadline(1.0), 0.5)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        *(({"window_s": bad}, "window_s") for bad in (-1.0, math.nan, math.inf, "5", True, 2e9, 10**400)),
        ({"lo_s": -(10**400), "hi_s": 0}, "lo_s"),
        ({"window_s": 1.0, "lo_s": 0.0}, "window_s"),
        ({"lo_s": 0.0}, "lo_s, hi_s"),
        ({}, "lo_s, hi_s"),
        ({"lo_s": 2.0, "hi_s": 1.0}, "lo_s"),
        ({"lo_s": math.nan, "hi_s": 1.0}, "lo_s"),
        ({"lo_s": 0.0, "hi_s": None}, "lo_s, hi_s"),
        ({"lo_s": 0.0, "hi_s": [1]}, "hi_s"),
    ],
)
def test_bad_bounds_are_refused_by_name(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(WindowError) as refusal:
        Window(**arguments)
    assert refusal.value.field == field


@pytest.mark.parametrize(("field", "least"), [("window_s", 0), ("lo_s", -1_000_000_000)])
@pytest.mark.parametrize("bad", [1e308, -2e9, math.nan, "5"])
def test_a_refusal_says_from_where_to_where_a_bound_may_be(field: str, least: int, bad: Any) -> None:
    with pytest.raises(WindowError) as refusal:
        Window(**({"window_s": bad} if field == "window_s" else {"lo_s": bad, "hi_s": 5.0}))
    said = f"{field} is {bad!r}: a number of seconds from {least} to 1000000000"
    assert (refusal.value.field, str(refusal.value)) == (field, said)
