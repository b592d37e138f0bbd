"""What probabilities cost: tables of the offsets that satisfy, a pair, a tuple, and when a match occurred."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.rounds import Work, timed
from benchmarks.joins.templates import templates_of, uneven_template
from coincide import ConstraintGraph, SatisfactionTable, Window, joint_probabilities
from coincide.probability import joint_at_least, match_probabilities
from coincide.probability.onset_columns import occurrence_columns
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds.chance import offset_lengths_s

TABLE_WINDOWS = {  # window and threshold: one longer than all templates, the others shorter
    "±60 s, longer than both": (Window(60.0), 0.6),
    "±5 s": (Window(5.0), 0.6),
    "±0.5 s": (Window(0.5), 0.05),
    "1 to 3 s": (Window(lo_s=1.0, hi_s=3.0), 0.05),
    "0 s": (Window(0.0), 0.01),
}
TEMPLATES = 20
BUCKETS = 4
WINDOWS = {"symmetric": Window(5.0), "other": Window(lo_s=-1.0, hi_s=9.0)}


class TableSize(NamedTuple):
    """So many templates on either side, of 4 to 8 buckets."""

    templates: int
    window: str


def of_table(size: TableSize) -> list[tuple[int, Work]]:
    rng = np.random.default_rng(1987)
    us, vs = ([uneven_template(rng) for _ in range(size.templates)] for _ in range(2))
    return [(1, timed(lambda: SatisfactionTable.build(us, vs, *TABLE_WINDOWS[size.window])))]


class PairsSize(NamedTuple):
    """So many templates on either side, all with 8 buckets, and pairs of events."""

    templates: int
    pairs: int


def of_pairs(size: PairsSize) -> list[tuple[int, Work]]:
    rng = np.random.default_rng(1987)
    us, vs = ([uneven_template(rng, 8) for _ in range(size.templates)] for _ in range(2))
    u_index, v_index = rng.integers(size.templates, size=(2, size.pairs))
    offset_us = rng.integers(-20_000_000, 20_000_000, size.pairs)
    window = Window(20.0)
    return [(size.pairs, timed(lambda: match_probabilities(us, vs, u_index, v_index, offset_us, window)))]


class MatchSize(NamedTuple):
    """Matches of two templates with so many buckets, all in one call."""

    buckets: int
    window: str
    matches: int


def of_matches(size: MatchSize) -> list[tuple[int, Work]]:
    """Say when random matches occurred, and how long the offsets are that are at least as probable."""
    rng, window = np.random.default_rng(1987), WINDOWS[size.window]
    us, vs = templates_of(rng, size.buckets), templates_of(rng, size.buckets)
    index = rng.integers(TEMPLATES, size=(2, size.matches))
    times_us = rng.integers(-1_500_000, 1_500_000, (2, size.matches))
    probability = match_probabilities(us, vs, index[0], index[1], times_us[1] - times_us[0], window)
    pairs, at_least = TemplatePairs(us, vs, index[0], index[1]), np.maximum(probability - 1e-12, 1e-9)
    return [
        (size.matches, timed(lambda: occurrence_columns([us, vs], index, times_us, window))),
        (size.matches, timed(lambda: offset_lengths_s(pairs, window, at_least))),
    ]


def windows_of_their_own(roles: str) -> ConstraintGraph:
    """Return a clique with a window of its own for each pair."""
    windows = {pair: Window(lo_s=-4 - n / 7, hi_s=5 + n / 9) for n, pair in enumerate(combinations(roles, 2))}
    return ConstraintGraph.clique(roles, windows)


SOME, AFTER = Window(lo_s=-4, hi_s=5), Window(lo_s=-1, hi_s=5)
GRAPHS = {
    "uniform clique of 3": (3, ConstraintGraph.clique("abc", Window(5))),
    "path of 3": (3, ConstraintGraph.path("abc", AFTER)),
    "uniform clique of 5": (5, ConstraintGraph.clique("abcde", Window(5))),
    "path of 5": (5, ConstraintGraph.path("abcde", AFTER)),
    "3, each pair a window of its own": (3, windows_of_their_own("abc")),
    "cycle of 4": (4, ConstraintGraph.graph([(a, b, SOME) for a, b in ("ab", "bc", "cd", "da")])),
    "4, each pair a window of its own": (4, windows_of_their_own("abcd")),
    "5, each pair a window of its own": (5, windows_of_their_own("abcde")),
}


class TupleSize(NamedTuple):
    """Tuples of one graph, all in one call, of templates with so many buckets."""

    graph: str
    tuples: int
    buckets: int = BUCKETS


def of_tuples(size: TupleSize) -> list[tuple[int, Work]]:
    """Work out the probability, and the verdict whether it is at least 0.5; show how wide the widest interval is."""
    members, graph = GRAPHS[size.graph]
    rng = np.random.default_rng(1987)
    sides = [templates_of(rng, size.buckets) for _ in range(members)]
    index = rng.integers(TEMPLATES, size=(members, size.tuples))
    times_us = rng.integers(-1_500_000, 1_500_000, index.shape)
    return [
        (
            size.tuples,
            timed(
                lambda: joint_probabilities(graph, sides, index, times_us),
                lambda joint: float((joint.upper - joint.lower).max()),
            ),
        ),
        (size.tuples, timed(lambda: joint_at_least(graph, sides, index, times_us, 0.5))),
    ]


MATCHES = Costs(
    item="a match",
    ways=("when it occurred", "offsets at least as probable"),
    sizes=[MatchSize(buckets, window, count) for buckets in (1, 4, 8) for window in WINDOWS for count in (20, 10_000)],
    quick=[MatchSize(4, window, 100) for window in WINDOWS],
    works=of_matches,
    rounds=5,
)
TUPLES = Costs(
    item="a tuple",
    ways=("probability", "at least 0.5?"),
    sizes=[
        TupleSize(name, tuples)
        for name, tuples in zip(GRAPHS, (100_000, 100_000, 10_000, 10_000, 2_000, 1_000, 1_000, 20), strict=True)
    ]
    + [TupleSize("4, each pair a window of its own", 1_000, buckets) for buckets in (8, 16)],
    quick=[TupleSize(name, 10) for name in GRAPHS if not name.startswith(("4,", "5,"))],
    works=of_tuples,
    shows="widest interval",
)
TABLES = Costs(
    item="a table",
    ways=("build",),
    sizes=[TableSize(templates, window) for templates in (100, 500) for window in TABLE_WINDOWS],
    quick=[TableSize(20, window) for window in TABLE_WINDOWS],
    works=of_table,
)
PAIRS = Costs(
    item="a pair",
    ways=("probability",),
    sizes=[PairsSize(templates, 200_000) for templates in (3, 100)],
    quick=[PairsSize(3, 10_000)],
    works=of_pairs,
    rounds=5,
)
BENCHMARKS = [
    Benchmark("satisfaction_table", "tables of the offsets that satisfy, and a pair's probability", [TABLES, PAIRS]),
    Benchmark("occurred", "when a match occurred, and how many offsets are at least as probable", [MATCHES]),
    Benchmark("joint_probability", "how probable a tuple is, by graph and buckets", [TUPLES]),
]
