"""A template in words, compared with a search over all runs of its buckets."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.console.drawing.template_words import MOST_LIKELY, narrowest, said_of
from services.console.rest.documents import TemplateAnswer


@pytest.mark.parametrize(
    ("edges_s", "mass", "said"),
    [
        ([-60, 60], [1.0], "happened at any time from 60 s before to 60 s after"),
        ([-4, -2, -1, 0], [0.2, 0.5, 0.3], "happened most likely 1 s to 2 s before"),
        ([-1, -0.3, 0], [0.2, 0.8], "happened most likely at most 300 ms before"),
        ([0, 3, 6], [0.1, 0.9], "happened most likely 3 s to 6 s after"),
        ([-0.05, 0.05], [1.0], "happened at any time from 50 ms before to 50 ms after"),
        ([-2e-6, 0], [1.0], "happened at any time at most 2 µs before"),
        ([0], [], "and happened exactly then"),
    ],
)
def test_when_it_happened_seen_from_the_report(edges_s: list[float], mass: list[float], said: str) -> None:
    assert said_of(TemplateAnswer("t", edges_s, mass)) == said


BUCKETS = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9)), min_size=1, max_size=8)


@given(BUCKETS.filter(lambda buckets: any(mass for _, mass in buckets)))
def test_no_shorter_run_of_buckets_holds_as_much(buckets: list[tuple[int, int]]) -> None:
    total = sum(mass for _, mass in buckets)
    edges = [0.0, *itertools.accumulate(float(width) for width, _ in buckets)]
    mass = [each / total for _, each in buckets]
    begin, end = narrowest(TemplateAnswer("t", edges, mass), MOST_LIKELY)
    runs = [
        edges[last] - edges[first]
        for first, last in itertools.combinations(range(len(edges)), 2)
        if sum(mass[first:last]) >= MOST_LIKELY - 1e-9
    ]
    assert end - begin == min(runs)
