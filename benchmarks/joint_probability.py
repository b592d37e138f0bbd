"""What the joint probability of a tuple costs, by the form of its graph.

Run as ``python -m benchmarks.joint_probability``; prints medians per tuple, in processor time, of the probability and
of the verdict whether it is at least 0.5, and how wide the widest interval is.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np

from benchmarks.occurred import median_us, random_templates
from coincide import ConstraintGraph, Window, joint_probabilities
from coincide.probability import joint_at_least

BUCKETS = 4


def clique_of_many_windows(streams: str) -> ConstraintGraph:
    """Return a clique with a window of its own for each pair."""
    windows = {pair: Window(lo_s=-4 - n / 7, hi_s=5 + n / 9) for n, pair in enumerate(combinations(streams, 2))}
    return ConstraintGraph.clique(streams, windows)


SOME = Window(lo_s=-4, hi_s=5)
GRAPHS = {
    "uniform clique": (ConstraintGraph.clique("abc", Window(5)), 100_000),
    "path": (ConstraintGraph.path("abc", Window(lo_s=-1, hi_s=5)), 100_000),
    "path of 5": (ConstraintGraph.path("abcde", Window(lo_s=-1, hi_s=5)), 10_000),
    "uniform clique of 5": (ConstraintGraph.clique("abcde", Window(5)), 10_000),
    "three windows": (clique_of_many_windows("abc"), 2_000),
    "cycle of 4": (ConstraintGraph.graph([(a, b, SOME) for a, b in ("ab", "bc", "cd", "da")]), 1_000),
    "six windows": (clique_of_many_windows("abcd"), 100),
    "ten windows": (clique_of_many_windows("abcde"), 3),
}


def measured(graph: ConstraintGraph, tuples: int, runs: int) -> tuple[float, float, float]:
    """Microseconds per tuple for the probability and for the verdict; width of the widest interval."""
    rng = np.random.default_rng(1987)
    sides = [random_templates(rng, BUCKETS) for _ in graph.roles]
    index = rng.integers(len(sides[0]), size=(len(sides), tuples))
    times_us = rng.integers(-1_500_000, 1_500_000, index.shape)
    joint = joint_probabilities(graph, sides, index, times_us)
    return (
        median_us(lambda: joint_probabilities(graph, sides, index, times_us), runs, tuples),
        median_us(lambda: joint_at_least(graph, sides, index, times_us, 0.5), runs, tuples),
        float((joint.upper - joint.lower).max()),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print(f"numpy {np.__version__}, us per tuple of {BUCKETS}-bucket templates, medians of {runs} runs")
    print("graph                 tuples  probability  at least 0.5   width")
    for name, (graph, tuples) in GRAPHS.items():
        probability, verdict, width = measured(graph, tuples, runs)
        print(f"{name:20}  {tuples:7,}  {probability:11.1f}  {verdict:12.1f}  {width:.4f}", flush=True)


if __name__ == "__main__":
    main()
