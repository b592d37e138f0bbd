"""Window: how far apart two occurrences may lie and still be together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import overload

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.errors import ThresholdError, WindowError

MICROSECONDS_PER_SECOND = 1_000_000
LONGEST_WINDOW_S = 1e9  # about 32 years; keeps every offset well inside int64 microseconds
# An open end: beyond any two occurrences (detections from 1898 to 2112, templates 1e9 s either way), and finite, with
# its microseconds exact floats.
OPEN_S = 9e9


@dataclass(frozen=True, init=False)
class Window:
    """A closed range of Xb - Xa, the time from the occurrence of a to that of b.

    Parameters
    ----------
    window_s : float, optional
        Half-width in seconds: ``Window(5.0)`` means ``|Xb - Xa| <= 5 s``.
    lo_s, hi_s : float, optional
        Both bounds in seconds, instead of `window_s`; both belong to the window.

    Raises
    ------
    WindowError
        A bound is not a finite number, is beyond 1e9 s, or ``lo_s > hi_s``.

    Examples
    --------
    >>> Window(5.0)
    Window(lo_s=-5.0, hi_s=5.0)
    >>> Window(lo_s=-1.0, hi_s=9.0).hi_us
    9000000
    """

    lo_s: float
    hi_s: float

    @overload
    def __init__(self, window_s: float) -> None: ...
    @overload
    def __init__(self, *, lo_s: float, hi_s: float) -> None: ...
    def __init__(self, window_s: float | None = None, *, lo_s: float | None = None, hi_s: float | None = None) -> None:
        if window_s is not None:
            if lo_s is not None or hi_s is not None:
                raise WindowError("window_s", window_s, "give either window_s or both lo_s and hi_s")
            hi_s = _seconds("window_s", window_s, least=0.0)
            lo_s = -hi_s
        if lo_s is None or hi_s is None:
            raise WindowError("lo_s, hi_s", (lo_s, hi_s), "give either window_s or both lo_s and hi_s")
        self._set(_seconds("lo_s", lo_s), _seconds("hi_s", hi_s))
        if self.lo_s > self.hi_s:
            raise WindowError("lo_s", self.lo_s, f"at most hi_s, which is {self.hi_s!r}")

    @classmethod
    def deadline(cls, within_s: float) -> Window:
        """Return Xb - Xa <= within_s: b at most so long after a, or any time before it. For batches, not streams."""
        return cls._between(-OPEN_S, _seconds("within_s", within_s))

    @classmethod
    def delay(cls, least_s: float) -> Window:
        """Return Xb - Xa >= least_s: b at least so long after a, without end. For batches, not streams."""
        return cls._between(_seconds("least_s", least_s), OPEN_S)

    @property
    def is_open(self) -> bool:
        """Whether an end is open: a deadline or a delay."""
        return OPEN_S in (-self.lo_s, self.hi_s)

    @property
    def lo_us(self) -> int:
        """Lower bound in microseconds, rounded to the nearest."""
        return round(self.lo_s * MICROSECONDS_PER_SECOND)

    @property
    def hi_us(self) -> int:
        """Upper bound in microseconds, rounded to the nearest."""
        return round(self.hi_s * MICROSECONDS_PER_SECOND)

    @property
    def is_symmetric(self) -> bool:
        """Whether swapping the two streams leaves the window as it is."""
        return self.lo_s == -self.hi_s

    def swapped(self) -> Window:
        """Return the window of Xa - Xb."""
        return Window._between(-self.hi_s, -self.lo_s)

    def __repr__(self) -> str:
        if not self.is_open:
            return f"Window(lo_s={self.lo_s!r}, hi_s={self.hi_s!r})"
        return f"Window.deadline({self.hi_s!r})" if self.lo_s == -OPEN_S else f"Window.delay({self.lo_s!r})"

    @classmethod
    def _between(cls, lo_s: float, hi_s: float) -> Window:
        """Return a window of bounds that are known to be good, open ends among them."""
        window = object.__new__(cls)
        window._set(lo_s, hi_s)
        return window

    def _set(self, lo_s: float, hi_s: float) -> None:
        # + 0.0 turns -0.0 into 0.0, so that equal windows look equal
        object.__setattr__(self, "lo_s", lo_s + 0.0)
        object.__setattr__(self, "hi_s", hi_s + 0.0)


def _seconds(field: str, seconds: object, least: float = -LONGEST_WINDOW_S) -> float:
    allowed = f"a number of seconds from {least:.0f} to {LONGEST_WINDOW_S:.0f}"
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        raise WindowError(field, seconds, allowed)
    if not seconds <= LONGEST_WINDOW_S or seconds < least:  # "not <=" also refuses NaN
        raise WindowError(field, seconds, allowed)
    return float(seconds)


def is_threshold(value: object) -> bool:
    """Whether `value` is a number above 0 and at most 1."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return bool(value <= 1 and not value <= 0)


def checked_threshold(threshold: object) -> float:
    """Return `threshold` as a float if it is in (0, 1], else raise ThresholdError."""
    if not is_threshold(threshold):
        raise ThresholdError("threshold", threshold, "a number above 0 and at most 1")
    return float(threshold)  # type: ignore[arg-type]


def checked_window(window: object) -> Window:
    """Return `window` if it is a Window, else raise WindowError."""
    if not isinstance(window, Window):
        raise WindowError("window", window, "a Window, such as Window(5.0) for 5 s either way")
    return window


def is_within_for_certain(window: Window, least_us: Int64Array, greatest_us: Int64Array) -> BoolArray:
    """Whether all differences from the least to the greatest, in whole microseconds, lie in the window, shape (n,).

    A bound of the window that is no whole microsecond is rounded inwards.
    """
    lo_us = window.lo_us + (window.lo_us / MICROSECONDS_PER_SECOND < window.lo_s)
    hi_us = window.hi_us - (window.hi_us / MICROSECONDS_PER_SECOND > window.hi_s)
    return (lo_us <= least_us) & (greatest_us <= hi_us)
