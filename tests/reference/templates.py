"""Hypothesis strategies for templates, windows and thresholds, on a microsecond scale and on a human one."""

from itertools import accumulate

from hypothesis import strategies as st

from coincide import Histogram, Window

MICROSECOND = 1e-6


@st.composite
def templates(draw: st.DrawFn, unit_s: float = 1.0, longest_bucket: int = 9) -> Histogram:
    """Up to 5 buckets of whole units, with atoms (zero length) and gaps (zero mass) among them."""
    lengths = draw(st.lists(st.integers(0, longest_bucket), min_size=1, max_size=5))
    weights = draw(st.lists(st.integers(0, 3), min_size=len(lengths), max_size=len(lengths)).filter(any))
    edges = accumulate(lengths, initial=draw(st.integers(-20, 20)))
    return Histogram([e * unit_s for e in edges], [w / sum(weights) for w in weights])


@st.composite
def windows(draw: st.DrawFn, unit_s: float = 1.0, furthest: int = 40) -> Window:
    """Closed windows on whole units: symmetric or not, down to a single time."""
    lo, hi = sorted((draw(st.integers(-furthest, furthest)), draw(st.integers(-furthest, furthest))))
    return Window(lo_s=lo * unit_s, hi_s=hi * unit_s)


def thresholds() -> st.SearchStrategy[float]:
    """All of (0, 1], and the values at which rounding bites."""
    return st.one_of(
        st.sampled_from([1.0, 0.5, 0.25, 1 / 3, 1e-9, 1 - 1e-9, 1e-300]),
        st.floats(min_value=0.0, max_value=1.0, exclude_min=True),
    )
