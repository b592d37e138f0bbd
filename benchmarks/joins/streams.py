"""`TimingJoin` and `WindowJoin` as events arrive: CPU time of each pushed event, by batch.

Streams of 100 events a second each arrive in batches that span the same time, shuffled within half a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Costs
from benchmarks.harness.rounds import Stopwatch, Work
from coincide import ConstraintGraph, Detections, Histogram, Stream, TimingJoin, Window, WindowJoin

SPACING_US = 10_000
SHUFFLE_US = 500_000
PARTNERS = 10
UNIFORM = (Histogram.uniform(-0.001, 0.001),)
MIXED = tuple(Histogram.normal(sigma_s=0.0005 * k) for k in range(1, 9))
POINT = (Histogram.point(),)

Join = TimingJoin | WindowJoin


HELD = (10_000, 100_000, 1_000_000)
PUSHED = 2_000  # events that are measured, once so many are held


class Push(NamedTuple):
    """How many areas there are, and how many events come at once."""

    areas: int
    batch: int


class Size(NamedTuple):
    """How many events of a stream come at once, and how many in all."""

    batch: int
    events_a_stream: int


def batches(
    size: Size, seed: int, templates: Sequence[Histogram] = UNIFORM, areas: int = 1, shuffle_us: int = SHUFFLE_US
) -> list[Detections]:
    """Return one stream in the order of arrival, cut into batches."""
    rng = np.random.default_rng(seed)
    detected = rng.integers(0, size.events_a_stream * SPACING_US, size.events_a_stream)
    detected = detected[np.argsort(detected + rng.integers(0, shuffle_us, size.events_a_stream))]
    template = rng.integers(0, len(templates), size.events_a_stream)
    area = None if areas == 1 else rng.integers(0, areas, size.events_a_stream)
    sensor = rng.integers(0, 20, size.events_a_stream) + 20 * seed
    parts = [slice(first, first + size.batch) for first in range(0, size.events_a_stream, size.batch)]
    return [
        Detections(detected[at], templates, template[at], None if area is None else area[at], sensor[at])
        for at in parts
    ]


def pushing(make: Callable[[], Join], arriving: Mapping[str, Sequence[Detections]]) -> tuple[int, Work]:
    """Return how many events there are, and work that pushes all of them; the answer is the matches an event."""
    events = sum(len(batch) for pushed in arriving.values() for batch in pushed)

    def work(watch: Stopwatch) -> float:
        join, matches = make(), 0
        with watch:
            for in_turn in zip(*arriving.values(), strict=True):
                for name, batch in zip(arriving, in_turn, strict=True):
                    matches += len(join.push(name, batch).insert)
        return matches / events

    return events, work


def streams_of(names: Sequence[str], size: Size, longest_template_s: float = 1.0) -> list[Stream]:
    """Return streams whose delays leave room for the shuffle and for a batch."""
    return [Stream(name, 2 + 2e-6 * size.batch * SPACING_US, longest_template_s) for name in names]


def timing_join(size: Size, templates: Sequence[Histogram] = UNIFORM, areas: int = 1) -> tuple[int, Work]:
    """Two streams, each event with `PARTNERS` partners in the other."""
    x, y = streams_of("xy", size)
    window = Window(PARTNERS * areas * SPACING_US / 2e6)
    arriving = {name: batches(size, seed, templates, areas) for seed, name in enumerate("xy")}
    return pushing(lambda: TimingJoin(x, y, window, 0.5), arriving)


def window_join(size: Size, names: str, partners: int) -> tuple[int, Work]:
    graph = ConstraintGraph.clique(names, Window(partners * SPACING_US / 2e6), 0.5)
    streams = streams_of(names, size)
    return pushing(lambda: WindowJoin(graph, streams), {name: batches(size, at) for at, name in enumerate(names)})


def at_least_three(size: Size) -> tuple[int, Work]:
    """At least 3 of 10 streams at exact times, 0.2 partners of each in a window; a fifth as many events."""
    names = [f"d{nth}" for nth in range(10)]
    graph = ConstraintGraph.clique(names, Window(0.2 * SPACING_US / 1e6))
    streams = streams_of(names, size, 0)
    fewer = Size(size.batch, size.events_a_stream // 5)
    arriving = {name: batches(fewer, seed, POINT, shuffle_us=1) for seed, name in enumerate(names)}
    return pushing(lambda: WindowJoin(graph, streams, at_least=3), arriving)


def held(push: Push, events: int) -> tuple[int, Work]:
    """Two streams that have so many events each; what is measured is the batches of one that come next."""
    pushes = max(12, PUSHED // push.batch)
    size = Size(push.batch, events)
    stretch_s = (events + pushes * push.batch) * SPACING_US / 1e6
    x, y = (Stream(name, 10 * stretch_s, 1.0) for name in "xy")
    window = Window(min(0.02 * push.areas, 1.0))
    first = {name: batches(size._replace(batch=events), seed, areas=push.areas)[0] for seed, name in enumerate("xy")}
    arriving = batches(size._replace(events_a_stream=pushes * push.batch), 2, areas=push.areas)
    next_us = events * SPACING_US

    def work(watch: Stopwatch) -> float:
        join = TimingJoin(x, y, window, 0.5)
        for name, batch in first.items():
            join.push(name, batch)
        later = [
            Detections(each.detected_at_us + next_us, each.templates, each.template_index, each.area, each.sensor)
            for each in arriving
        ]
        with watch:
            matches = sum(len(join.push("x", batch).insert) for batch in later)
        return matches / pushes

    return pushes, work


HELD_EVENTS = Costs(
    item="a push",
    ways=tuple(f"{events:,} held" for events in HELD),
    sizes=[Push(areas, batch) for areas in (1, 64, 1_000, 100_000) for batch in (1, 100, 10_000)],
    quick=[Push(64, 100)],
    works=lambda push: [held(push, events) for events in HELD],
    shows="matches a push",
)
TIMING_JOIN = Costs(
    item="an event",
    ways=("1 area", "1 area, 8 templates", "64 areas"),
    sizes=[Size(100, 20_000), Size(1_000, 100_000), Size(10_000, 300_000)],
    quick=[Size(1_000, 5_000)],
    works=lambda size: [timing_join(size), timing_join(size, MIXED), timing_join(size, areas=64)],
    shows="matches an event",
)
WINDOW_JOIN = Costs(
    item="an event",
    ways=("TimingJoin", "WindowJoin of 2", "clique of 3", "at least 3 of 10"),
    sizes=[Size(100, 20_000), Size(1_000, 100_000), Size(10_000, 200_000)],
    quick=[Size(1_000, 5_000)],
    works=lambda size: [
        timing_join(size),
        window_join(size, "xy", PARTNERS),
        window_join(size, "xyz", 4),
        at_least_three(size),
    ],
)
BENCHMARKS = [
    Benchmark(
        "streaming_join", f"TimingJoin on two streams as they arrive, {PARTNERS} partners an event", [TIMING_JOIN]
    ),
    Benchmark("held_events", "What a push costs, by what is held, the number of areas and the batch", [HELD_EVENTS]),
    Benchmark("window_join_streaming", "WindowJoin on streams as they arrive, beside TimingJoin", [WINDOW_JOIN]),
]
