"""Does the 90 % region have the source nine times of ten, and is the place as good as it can be? Simulated networks.

Sources are uniform among the sensors and up to 30 % of the area's width outside. Errors come from the templates for the
coverage. For the error of the place they are Gaussian: its median stands beside that of the Cramer-Rao bound, which no
unbiased estimate goes below.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Histogram
from coincide.arrays.kinds import FloatArray
from coincide.places import FramePlace, Places
from coincide.sources import SourceLocation, SourceRule, located_source

SEED, WIDE_M, SPEED_M_S, SIGMA_S, MARGIN = 36, 100.0, 343.0, 0.002, 0.3
CLOCK = Histogram.normal(SIGMA_S)
SHARP = Histogram.normal(SIGMA_S, buckets=16)
NETWORKS = ((3, 2), (5, 2), (10, 2), (30, 2), (5, 3), (10, 3), (30, 3))
DRAWS, QUICK_DRAWS = 400, 20


class Drawn(NamedTuple):
    """A source, what was found of it, the CPU time that took, and the median error at the bound."""

    source_m: FloatArray
    found: SourceLocation | None
    cpu_s: float
    bound_m: float

    @property
    def error_m(self) -> float:
        if self.found is None:
            return np.inf
        return float(np.hypot(*(self.source_m - self.found.place.coordinates)[:2]))

    @property
    def is_in_region(self) -> bool:
        if self.found is None:
            return False
        away = np.abs(self.found.region.centres.coordinates - self.source_m)
        return bool((away <= np.array(self.found.region.half_m) + 1e-9).all(axis=1).any())

    @property
    def is_in_time(self) -> bool:
        return self.found is not None and self.found.p05_us <= 0 <= self.found.p95_us


def drawn(rng: np.random.Generator, members: int, dimensions: int, *, gaussian: bool) -> Drawn:
    sensors_m = rng.uniform(0, WIDE_M, (members, 3))
    heights_m = (-WIDE_M / 2, 0.0) if dimensions == 3 else (0.0, 0.0)
    sensors_m[:, 2] *= 0.02 if dimensions == 3 else 0.0
    low, high = sensors_m[:, :2].min(axis=0), sensors_m[:, :2].max(axis=0)
    margin_m = MARGIN * WIDE_M
    source_m = np.append(rng.uniform(low - margin_m, high + margin_m), rng.uniform(*heights_m))
    away = source_m - sensors_m
    way_m = np.sqrt((away**2).sum(axis=1))
    errors_s = rng.normal(0, SIGMA_S, members) if gaussian else -CLOCK.quantile(rng.uniform(size=members))
    times_us = np.rint((way_m / SPEED_M_S + errors_s) * 1e6).astype(np.int64)
    rule = SourceRule(SPEED_M_S, 1e-5, heights_m, margin_m)
    places = Places.of([FramePlace(*each) for each in sensors_m.tolist()])
    began_s = time.process_time()
    found = located_source(rule, places, [SHARP if gaussian else CLOCK] * members, times_us.tolist())
    cpu_s = time.process_time() - began_s
    return Drawn(source_m, found, cpu_s, bound_m(rng, away / way_m[:, None], dimensions))


def bound_m(rng: np.random.Generator, direction: FloatArray, dimensions: int) -> float:
    """Return the median horizontal error of a Gaussian with the covariance of the Cramer-Rao bound."""
    slopes = np.column_stack((direction[:, :dimensions] / SPEED_M_S, np.ones(len(direction))))
    covariance = np.linalg.pinv(slopes.T @ slopes) * SIGMA_S**2
    errors = rng.multivariate_normal(np.zeros(2), covariance[:2, :2], 400)
    return float(np.median(np.hypot(*errors.T)))


def regions(options: Options) -> Iterator[Table]:
    draws = QUICK_DRAWS if options.quick else DRAWS

    def rows() -> Iterator[tuple[object, ...]]:
        for members, dimensions in NETWORKS:
            rng = np.random.default_rng(SEED)
            own = [drawn(rng, members, dimensions, gaussian=False) for _ in range(draws)]
            sharp = [drawn(rng, members, dimensions, gaussian=True) for _ in range(draws)]
            ratio = float(np.median([each.error_m / each.bound_m for each in sharp]))
            covered, in_time = (
                np.mean([getattr(each, name) for each in own]) for name in ("is_in_region", "is_in_time")
            )
            cpu_ms = 1000 * float(np.median([each.cpu_s for each in own]))
            lost = max(each.found.lost for each in own if each.found is not None)
            figures = (f"{covered:.3f}", f"{in_time:.3f}", f"{ratio:.2f}", f"{cpu_ms:.0f}", f"{lost:.1g}")
            yield members, dimensions, *figures

    headings = (
        "members",
        "axes",
        "in the 90 % region",
        "in the 90 % of time",
        "error / bound",
        "CPU ms",
        "lost at most",
    )
    yield Table(headings, rows(), f"{draws} sources each")


BENCHMARKS = [Benchmark("source_regions", "whether the region of one source is right, and what it costs", [regions])]
