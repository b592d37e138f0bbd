"""Micro benchmarks of the library, by names that stand at the top of `coincide` in any checkout: see `compare`.

Each makes its input, and returns how many items it has and the work on all of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.harness.rounds import Work, seconds, timed
from benchmarks.joins import streams
from benchmarks.joins.templates import templates_of, uneven_template
from benchmarks.line import fusion_core, small_pushes
from coincide import (
    ConstraintGraph,
    Detections,
    EagerCoalescing,
    Histogram,
    SatisfactionTable,
    Window,
    WindowExtent,
    coalesce,
    joint_probabilities,
    match_probability,
    occurred,
    timing_join,
    window_join,
)

Micro = Callable[[], tuple[int, Work]]
SPACING_US = 10_000


def _exact(names: str, events: int, template: Histogram) -> dict[str, Detections]:
    rng = np.random.default_rng(7)
    return {name: Detections(np.sort(rng.integers(0, events * SPACING_US, events)), [template]) for name in names}


def _timing_join(events: int = 200_000) -> tuple[int, Work]:
    of = _exact("ab", events, Histogram.uniform(-0.001, 0.001))
    return events, timed(lambda: timing_join(of["a"], of["b"], Window(0.05), 0.5), len)


def _window_join(events: int = 30_000) -> tuple[int, Work]:
    of, graph = _exact("abc", events, Histogram.point()), ConstraintGraph.clique("abc", Window(0.05))
    return events, timed(lambda: window_join(of, graph), len)


def _satisfaction_table(templates: int = 40) -> tuple[int, Work]:
    rng = np.random.default_rng(1987)
    us, vs = ([uneven_template(rng) for _ in range(templates)] for _ in range(2))
    return templates**2, timed(lambda: SatisfactionTable.build(us, vs, Window(0.5), 0.05))


def _match_probability(offsets: int = 50_000) -> tuple[int, Work]:
    rng = np.random.default_rng(1987)
    u, v = (uneven_template(rng, 8) for _ in range(2))
    offsets_s = rng.uniform(-20, 20, offsets)
    return offsets, timed(lambda: match_probability(u, v, offsets_s, Window(20.0)), lambda p: round(float(p.sum()), 6))


def _joint_probabilities(tuples: int = 5_000) -> tuple[int, Work]:
    rng, graph = np.random.default_rng(1987), ConstraintGraph.clique("abc", Window(5))
    sides = [templates_of(rng, 4) for _ in "abc"]
    index, times_us = rng.integers(20, size=(3, tuples)), rng.integers(-1_500_000, 1_500_000, (3, tuples))
    return tuples, timed(lambda: joint_probabilities(graph, sides, index, times_us), lambda joint: len(joint.lower))


def _occurred(matches: int = 200) -> tuple[int, Work]:
    a, b = templates_of(np.random.default_rng(1987), 4, count=2)
    return matches, timed(lambda: [occurred([a, b], [0, at * 1_000], Window(5.0)) for at in range(matches)], len)


def _coalesce(facts: int = 500_000) -> tuple[int, Work]:
    rng = np.random.default_rng(6)
    start, group = np.cumsum(rng.integers(1, 1_000, facts)), rng.integers(0, 54, facts)
    end, value = start + rng.integers(1, 1_000_000, facts), rng.integers(0, 10, facts)
    return facts, timed(lambda: coalesce(start, end, group, value), len)


def _eager_coalescing(readings: int = 100_000) -> tuple[int, Work]:
    ts, value = np.arange(readings) * 1_000, (np.random.default_rng(6).random(readings) < 0.2).cumsum() % 3
    parts = [slice(at, at + 1_000) for at in range(0, readings, 1_000)]

    def push() -> int:
        extent = EagerCoalescing(WindowExtent(size=10_000))
        return sum(len(extent.push(ts[part], value=value[part]).insert) for part in parts)

    return readings, timed(push, lambda runs: runs)


def _small_pushes(way: str, frames_a_push: int = 1, pushes: int = 500) -> tuple[int, Work]:
    return small_pushes.pushing(small_pushes.Size(frames_a_push, pushes), *small_pushes.WAYS[way])


MICRO: dict[str, Micro] = {
    "timing_join": _timing_join,
    "window_join": _window_join,
    "timing_join_streams": lambda: streams.timing_join(streams.Size(1_000, 50_000)),
    "window_join_streams": lambda: streams.window_join(streams.Size(1_000, 20_000), "xyz", 4),
    "at_least_streams": lambda: streams.at_least_three(streams.Size(1_000, 20_000)),
    "satisfaction_table": _satisfaction_table,
    "match_probability": _match_probability,
    "joint_probabilities": _joint_probabilities,
    "occurred": _occurred,
    "coalesce": _coalesce,
    "eager_coalescing": _eager_coalescing,
    "fusion_core": lambda: fusion_core.pushing(fusion_core.Size(8, 1)),
    "fusion_core_frame_by_frame": lambda: fusion_core.pushing(fusion_core.Size(1, 1)),
    "push_of_one": lambda: _small_pushes("pairs"),
    "push_of_one_with_episodes": lambda: _small_pushes("pairs and episodes"),
    "push_of_one_for_triples": lambda: _small_pushes("triples"),
    "push_of_one_for_spells": lambda: _small_pushes("spells"),
    "push_of_64": lambda: _small_pushes("pairs", 64, 50),
}


def measured(name: str) -> tuple[float, object]:
    """Return the microseconds of one item, the least of three rounds after one to warm up, and the answer."""
    items, work = MICRO[name]()
    _, answer = seconds(work)
    return min(seconds(work)[0] for _ in range(3)) / items * 1e6, answer
