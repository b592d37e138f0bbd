"""How much work the kernels do, in counts: what makes them fast, and does not depend on the machine."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from coincide import Detections, Histogram, SatisfactionTable, Window, timing_join_blocks
from coincide.knots import Knots
from coincide.sorted_knots import SortedKnots
from coincide.trapezoids import Trapezoids

TEMPLATES = 40  # a side: 1,600 pairs


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Cdf values of template pairs computed since, by the method that computed them."""
    counts: Counter[str] = Counter()

    def counted(kind: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any) -> Any:
            result = method(self, *arguments)
            counts[kind] += (result[0] if isinstance(result, tuple) else result).size
            return result

        return call

    for cls, kind, names in (
        (Trapezoids, "exact", ("at_most", "below", "at_most_and_density")),
        (Knots, "summed", ("cdf_and_density",)),
        (SortedKnots, "summed", ("cdf",)),
    ):
        for name in names:
            monkeypatch.setattr(cls, name, counted(kind, getattr(cls, name)))
    return counts


def templates(seed: int) -> list[Histogram]:
    rng = np.random.default_rng(seed)
    return [
        Histogram(np.cumsum(rng.uniform(0.5, 5, buckets + 1)), rng.dirichlet(np.ones(buckets)))
        for buckets in rng.integers(4, 9, TEMPLATES).tolist()
    ]


def test_a_long_window_takes_one_exact_value_an_end(evaluated: Counter[str]) -> None:
    SatisfactionTable.build(templates(1), templates(2), Window(60), 0.6)
    assert evaluated["exact"] <= 2.1 * TEMPLATES**2  # an end each: one value decides both neighbours
    assert evaluated["summed"] <= 7 * TEMPLATES**2


def test_a_short_window_takes_few_exact_values(evaluated: Counter[str]) -> None:
    SatisfactionTable.build(templates(1), templates(2), Window(5), 0.6)
    assert evaluated["exact"] <= 3 * TEMPLATES**2
    assert evaluated["summed"] <= 65 * TEMPLATES**2


def test_blocks_need_no_memory_for_the_whole_answer() -> None:
    frame = Detections(np.arange(20_000), [Histogram.point()])
    tracemalloc.start()
    pairs = sum(len(block) for block in timing_join_blocks(frame, frame, Window(0.0002), threshold=1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs == 20_000 * 401 - 200 * 201  # each meets itself and 200 on either side; near the ends fewer
    assert peak < 16_000_000  # the answer alone has 127,000,000 bytes
