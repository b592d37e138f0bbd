"""Retention: how long an event may still find a partner that is not late, and how many are kept at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coincide.errors import StreamError
from coincide.histogram_checks import is_whole
from coincide.stream import Stream
from coincide.window import Window

ROUNDING_US = 2  # earliest is rounded down, latest up and the window to the nearest: all that together is below this


def a_reach_us(b: Stream, window: Window) -> int:
    """Keep a while ``latest_a >= watermark + this``.

    A b that is on time has latest_b >= W - D_b, hence earliest_b >= W - D_b - pi_b, and X_a >= X_b - hi.
    """
    return -b.max_delay_us - window.hi_us - b.longest_template_us - ROUNDING_US


def b_reach_us(a: Stream, window: Window) -> int:
    """Keep b while ``latest_b >= watermark + this``.

    An a that is on time has latest_a >= W - D_a, hence earliest_a >= W - D_a - pi_a, and X_b >= X_a + lo.
    """
    return -a.max_delay_us + window.lo_us - a.longest_template_us - ROUNDING_US


def reach_us(stream: Stream, streams: Mapping[str, Stream], joins: Iterable[tuple[str, str, Window]]) -> int:
    """How far behind the watermark events of a stream are needed: keep while ``latest >= watermark + this``.

    The farthest of all joins (names of a and b, window) that name the stream; never nearer than the stream's own
    delay, within which a repeated detection must still be known as one.

    Examples
    --------
    >>> p, s = Stream("p", max_delay_s=10, longest_template_s=2), Stream("s", max_delay_s=20, longest_template_s=3)
    >>> reach_us(p, {"p": p, "s": s}, [("p", "s", Window(lo_s=0, hi_s=5))])
    -28000002
    >>> reach_us(s, {"p": p, "s": s}, [("p", "s", Window(lo_s=0, hi_s=5))])
    -20000000
    """
    reaches = [-stream.max_delay_us]
    for a, b, window in joins:
        if a == stream.name:
            reaches.append(a_reach_us(streams[b], window))
        if b == stream.name:
            reaches.append(b_reach_us(streams[a], window))
    return min(reaches)


def checked_bound(max_buffered: int | None) -> int | None:
    """Return the hard bound on a stream's buffer if it is one, else raise StreamError."""
    if max_buffered is not None and (not is_whole(max_buffered) or max_buffered < 1):
        raise StreamError("max_buffered", max_buffered, "a whole number of events, at least 1, or None")
    return max_buffered
