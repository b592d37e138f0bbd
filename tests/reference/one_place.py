"""The slow twin of coincide.sources: the density of the reports at every point of a grid, one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import dist

import numpy as np

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities
from coincide.arrays.kinds import FloatArray
from coincide.evidence import one_source_density

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Reports:
    """What members heard: where they stand, at which speed it came, and by which templates they say when."""

    members: Sequence[Point]
    speed_m_s: float
    templates: Sequence[Histogram]
    detected_at_us: Sequence[int]

    def of(self, members: Sequence[int]) -> "Reports":
        """Those of some members."""
        places, times = [self.members[nth] for nth in members], [self.detected_at_us[nth] for nth in members]
        return Reports(places, self.speed_m_s, [self.templates[nth] for nth in members], times)

    def corrected_us(self, place: Point) -> list[int]:
        """Reports less the travel times, to the microsecond."""
        travel = [dist(place, member) / self.speed_m_s for member in self.members]
        return [at - round(way * 1e6) for at, way in zip(self.detected_at_us, travel, strict=True)]

    def densities(self, places: Sequence[Point]) -> FloatArray:
        """Density of the reports but the first, from each place."""
        times = np.array([self.corrected_us(place) for place in places], dtype=np.int64).T
        index = np.broadcast_to(np.arange(len(self.members))[:, None], times.shape)
        return one_source_density(list(self.templates), index, times)

    def probabilities(self, places: Sequence[Point], slack_s: float) -> FloatArray:
        """P that the corrected times lie within the slack of each other, from each place."""
        times = np.array([self.corrected_us(place) for place in places], dtype=np.int64).T
        graph = ConstraintGraph.clique([str(nth) for nth in range(len(self.members))], Window(slack_s))
        kinds = [[template] for template in self.templates]
        return joint_probabilities(graph, kinds, np.zeros_like(times), times).value


def most_explained(reports: Reports, places: Sequence[Point], slack_s: float, threshold: float, most: int) -> int:
    """Size of the largest subset of 3 to `most` members with enough P at one of the places; 0 if none."""
    every = range(len(reports.members))
    for size in range(min(most, len(every)), 2, -1):
        for subset in combinations(every, size):
            if (reports.of(subset).probabilities(places, slack_s) >= threshold).any():
                return size
    return 0


def grid(least: Sequence[float], most: Sequence[float], steps: Sequence[int]) -> Iterator[Point]:
    """Middles of the cells of a box."""
    axes = [
        [low + (high - low) * (nth + 0.5) / count for nth in range(count)]
        for low, high, count in zip(least, most, steps, strict=True)
    ]
    yield from ((x, y, z) for x in axes[0] for y in axes[1] for z in axes[2])
