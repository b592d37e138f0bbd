"""How long the satisfaction table of n x n templates takes, and the probability of a pair of events.

Run as ``python -m benchmarks.satisfaction_table``; prints a table of medians. Templates have 4 to 8 buckets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

import numpy as np

from coincide import Histogram, SatisfactionTable, Window
from coincide.probability import match_probabilities

CASES = (  # window and threshold: one longer than all templates, the others shorter
    (Window(60.0), 0.6),
    (Window(5.0), 0.6),
    (Window(0.5), 0.05),
    (Window(lo_s=1.0, hi_s=3.0), 0.05),
    (Window(0.0), 0.01),
)


def random_template(rng: np.random.Generator, least_buckets: int = 4) -> Histogram:
    """Draw a template of up to 8 buckets, each 0.5 to 5 s long."""
    buckets = int(rng.integers(least_buckets, 9))
    edges_s = np.cumsum(rng.uniform(0.5, 5.0, buckets + 1))
    return Histogram(edges_s - rng.uniform(0.0, edges_s[-1]), rng.dirichlet(np.ones(buckets)))


def median_ms(task: Callable[[], object], runs: int) -> float:
    """Median wall time of `task` in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        task()
        times.append((time.perf_counter() - start) * 1e3)
    return median(times)


def build_ms(templates: int, window: Window, threshold: float, runs: int) -> float:
    """Median time to build a fresh table."""
    rng = np.random.default_rng(1987)
    us, vs = ([random_template(rng) for _ in range(templates)] for _ in range(2))
    return median_ms(lambda: SatisfactionTable.build(us, vs, window, threshold), runs)


def probability_us(pairs: int, templates: int, runs: int) -> float:
    """Median time per pair of events, all templates with 8 buckets."""
    rng = np.random.default_rng(1987)
    us, vs = ([random_template(rng, 8) for _ in range(templates)] for _ in range(2))
    u_index, v_index = rng.integers(templates, size=(2, pairs))
    offset_us = rng.integers(-20_000_000, 20_000_000, pairs)
    return median_ms(lambda: match_probabilities(us, vs, u_index, v_index, offset_us, Window(20.0)), runs) * 1e3 / pairs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--templates", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    print(f"numpy {np.__version__}, medians of {arguments.runs} runs")
    for templates in arguments.templates:
        for window, threshold in CASES:
            milliseconds = build_ms(templates, window, threshold, arguments.runs)
            print(f"table {templates} x {templates}, {window}, threshold {threshold}: {milliseconds:.1f} ms")
    for templates in (3, 100):
        per_pair = probability_us(200_000, templates, arguments.runs)
        print(f"probability of a pair, {templates} x {templates} templates of 8 buckets: {per_pair:.2f} us")


if __name__ == "__main__":
    main()
