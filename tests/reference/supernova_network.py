"""Ten neutrino detectors of a supernova early-warning network, and orders in which their alarms may arrive.

Alarms that three or more detectors raise within 10 s of each other are a supernova.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from coincide import ConstraintGraph, Detections, Histogram, Window
from tests.reference.window_join import Positions, Push, at_least_oracle, pushes_of

DETECTORS = (
    *("super-kamiokande", "icecube", "km3net", "lvd", "borexino"),
    *("kamland", "halo", "nova", "sno-plus", "baksan"),
)
AT_LEAST = 3
NOISE = 21
SECOND_US = 1_000_000
EXACT = Histogram.point()
CLOCKS = (EXACT, Histogram.uniform(-2, 0), Histogram([-1, -0.5, 0.5, 1], [0.25, 0.5, 0.25]))
BURSTS: tuple[tuple[int, dict[int, tuple[float, ...]]], ...] = (
    (100, {0: (0,), 1: (1,), 2: (1,), 3: (2.5,), 4: (4,), 5: (4,), 6: (9,), 7: (10,)}),  # all within 10 s
    (300, {0: (0,), 3: (6,), 5: (12,), 8: (3,), 9: (9,)}),  # the ends 0 s and 12 s are no pair
    (315, {1: (0,), 2: (10,), 4: (10.000_001,), 6: (5,)}),  # 1 us too late for the first
    (500, {2: (0, 7), 7: (3, 3), 9: (5,)}),  # two detectors twice, once at the same time
    (700, {4: (0,), 5: (6,), 6: (12,)}),  # two pairs, and no three
    (900, {8: (0,), 9: (0,), 0: (0,), 1: (0,)}),  # all at once
)


@dataclass(frozen=True)
class SupernovaNetwork:
    """Frames of all detectors, in no order of time, and what is asked: `graph`, and AT_LEAST of it."""

    frames: dict[str, Detections]
    graph: ConstraintGraph

    @cached_property
    def expected(self) -> set[Positions]:
        return at_least_oracle(self.frames, self.graph, AT_LEAST)

    @property
    def alarms(self) -> list[tuple[str, int]]:
        """Detector and position in its frame of every alarm, in order of time."""
        every = [(name, row) for name, frame in self.frames.items() for row in range(len(frame))]
        return sorted(every, key=lambda alarm: int(self.frames[alarm[0]].detected_at_us[alarm[1]]))

    def orders_of_arrival(self, count: int, seed: int = 0) -> Iterator[list[Push]]:
        """Yield by time, backwards, detector by detector, and `count` drawn at random in pushes of 1 to 4 alarms."""
        forward = self.alarms
        yield pushes_of(forward)
        yield pushes_of(forward[::-1])
        yield pushes_of(sorted(forward), most_together=9)
        draw = random.Random(seed)
        for _ in range(count):
            yield pushes_of(draw.sample(forward, len(forward)), draw.randint(1, 4))


def supernova_network(seed: int = 1987, *, uncertain: bool = False) -> SupernovaNetwork:
    """Return 50 alarms; `uncertain`: each of CLOCKS is that of every third detector, and the threshold 0.5."""
    draw = random.Random(seed)
    noise = Counter(draw.choices(DETECTORS, k=NOISE))
    times_us = {name: [draw.randrange(1_000) * SECOND_US for _ in range(noise[name])] for name in DETECTORS}
    for start_s, alarms in BURSTS:
        for detector, after_s in alarms.items():
            times_us[DETECTORS[detector]] += [round((start_s + each_s) * SECOND_US) for each_s in after_s]
    frames = {}
    for at, (name, own_us) in enumerate(times_us.items()):
        draw.shuffle(own_us)
        clock = CLOCKS[at % len(CLOCKS)] if uncertain else EXACT
        frames[name] = Detections(own_us, [clock], sensor=[name] * len(own_us), id=range(len(own_us)))
    return SupernovaNetwork(frames, ConstraintGraph.clique(DETECTORS, Window(10), 0.5 if uncertain else None))
