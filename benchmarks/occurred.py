"""What it costs to say of a match when it occurred, and how many offsets are at least as probable.

Run as ``python -m benchmarks.occurred``; prints medians per match, in processor time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from statistics import median

import numpy as np

from coincide import Histogram, Window
from coincide.offsets.chance import offset_lengths_s
from coincide.probability import match_probabilities, occurrence_columns
from coincide.templates.template_columns import TemplatePairs

TEMPLATES = 20
WINDOWS = {"symmetric": Window(5.0), "other": Window(lo_s=-1.0, hi_s=9.0)}


def random_templates(rng: np.random.Generator, buckets: int) -> list[Histogram]:
    """Templates of about 8 s, however many buckets they have."""
    lengths = rng.uniform(0.5, 1.5, (TEMPLATES, buckets)) * 8 / buckets
    edges_s = np.concatenate((np.zeros((TEMPLATES, 1)), np.cumsum(lengths, axis=1)), axis=1) - 4
    return [Histogram(edges, rng.dirichlet(np.ones(buckets))) for edges in edges_s]


def median_us(task: Callable[[], object], runs: int, each: int) -> float:
    """Median processor time of `task` in microseconds, divided by `each`."""
    times = []
    for _ in range(runs):
        start = time.process_time()
        task()
        times.append((time.process_time() - start) * 1e6 / each)
    return median(times)


def measured(rng: np.random.Generator, buckets: int, matches: int, window: Window, runs: int) -> tuple[float, float]:
    """Microseconds per match: when it occurred; how many offsets are at least as probable."""
    us, vs = random_templates(rng, buckets), random_templates(rng, buckets)
    index = rng.integers(TEMPLATES, size=(2, matches))
    times_us = rng.integers(-1_500_000, 1_500_000, (2, matches))
    probability = match_probabilities(us, vs, index[0], index[1], times_us[1] - times_us[0], window)
    pairs, at_least = TemplatePairs(us, vs, index[0], index[1]), np.maximum(probability - 1e-12, 1e-9)
    return (
        median_us(lambda: occurrence_columns([us, vs], index, times_us, window), runs, matches),
        median_us(lambda: offset_lengths_s(pairs, window, at_least), runs, matches),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print(f"numpy {np.__version__}, us per match, medians of {runs} runs")
    print("buckets  matches  window      occurred  offsets as probable")
    for buckets, matches, name in product((1, 2, 4, 8), (20, 10_000), WINDOWS):
        when, rivals = measured(np.random.default_rng(1987), buckets, matches, WINDOWS[name], runs)
        print(f"{buckets:7}  {matches:7,}  {name:10}  {when:8.2f}  {rivals:19.1f}")


if __name__ == "__main__":
    main()
