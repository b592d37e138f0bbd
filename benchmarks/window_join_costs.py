"""What each algorithm of the window join paper does for the same answer, in counts; and how long its tuples wait.

Run as ``python -m benchmarks.window_join_costs``; prints, for each tuple that arrives, the tuples touched, windows
tested and keys compared, and the mean and the longest wait in the recording's own time. Nothing depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide.papers.window_join.algorithms import ALGORITHMS
from coincide.papers.window_join.counted_work import WindowWork
from coincide.papers.window_join.window_replay import Arrivals

LABELS = 10  # values of the key, as often one as the other
ARRIVALS = 1_200
UNIFORM = ("bew-nested-loop", "few-nested-loop", "bew-hash", "few-hash")
HASHED = ("bew-hash", "few-hash")
ANY_GRAPH = ("gca-bew", "gca-few", "lca-bew", "lca-few", "bew-direct")
RUN = {algorithm.name: algorithm.run for algorithm in ALGORITHMS}
OPERATIONS_PER_S = 100_000  # of the machine that the response time is reckoned for


@dataclass(frozen=True)
class Setting:
    """Streams of `rate_hz` each that arrive in order of time; windows of `window_s` either way, one pair's `wide_s`."""

    rate_hz: float = 16.0
    streams: int = 3
    window_s: float = 1.0
    wide_s: float | None = None
    arrivals: int = ARRIVALS

    @property
    def graph(self) -> ConstraintGraph:
        """A uniform clique, or one in which the last two streams have a window of their own."""
        names = "abcdef"[: self.streams]
        if self.wide_s is None:
            return ConstraintGraph.clique(names, Window(self.window_s))
        windows = {pair: Window(self.window_s) for pair in combinations(names, 2)}
        return ConstraintGraph.clique(names, {**windows, (names[-2], names[-1]): Window(self.wide_s)})

    def recorded(self) -> Arrivals:
        """Return as many tuples of each stream, at times at random."""
        random, each = np.random.default_rng(2003), self.arrivals // self.streams
        names = self.graph.roles
        times_us = [np.sort(random.integers(0, round(each / self.rate_hz * 1e6), each)) for _ in names]
        key = {name: random.integers(0, LABELS, each) for name in names}
        exact = [Histogram.point()]
        return Arrivals(
            {name: Detections(column, exact) for name, column in zip(names, times_us, strict=True)}, key=key
        )


USUAL = Setting()
WIDE = Setting(rate_hz=6.0, streams=4, wide_s=1.0)
WIDTHS_S = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
RATES_HZ = (
    1.0,
    2.0,
    4.0,
    8.0,
    16.0,
    32.0,
    48.0,
    64.0,
    72.0,
    80.0,
    88.0,
    96.0,
    104.0,
    112.0,
    120.0,
    128.0,
    136.0,
    144.0,
)


def sweeps(usual: Setting = USUAL) -> dict[str, list[Setting]]:
    """Return the settings of each series: one thing varies, the rest is as usual."""
    return {
        "rate_hz": [replace(usual, rate_hz=rate_hz) for rate_hz in (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)],
        "streams": [replace(usual, streams=streams) for streams in (2, 3, 4, 5)],
        "window_s": [replace(usual, window_s=window_s) for window_s in (0.125, 0.25, 0.5, 1.0, 2.0)],
    }


def works(setting: Setting, names: Iterable[str]) -> dict[str, WindowWork]:
    """Return the work of each algorithm that is named."""
    arrivals, graph = setting.recorded(), setting.graph
    return {name: RUN[name](arrivals, graph).work for name in names}


def operations(setting: Setting, work: WindowWork) -> float:
    """Return the operations for each tuple that arrives."""
    return work.operations / setting.arrivals


def response_s(setting: Setting, work: WindowWork) -> float:
    """Return the mean response time of a machine of OPERATIONS_PER_S; infinite when it cannot keep up.

    A tuple waits for others (counted), queues (M/D/1: arrivals at random, all of them the mean work), and is served.
    """
    service_s = operations(setting, work) / OPERATIONS_PER_S
    load = service_s * setting.rate_hz * setting.streams
    queued_s = service_s * load / (2 * (1 - load)) if load < 1 else np.inf
    return work.waited_us / 1e6 / setting.arrivals + queued_s + service_s


def responses() -> tuple[list[Setting], dict[str, list[float]]]:
    """Return response times of the hash algorithms, in seconds, against the rate."""
    settings = [Setting(rate_hz=rate_hz, arrivals=3_000) for rate_hz in RATES_HZ]
    found = [works(setting, HASHED) for setting in settings]
    pairs = list(zip(settings, found, strict=True))
    return settings, {name: [response_s(setting, work[name]) for setting, work in pairs] for name in HASHED}


def main() -> None:
    """Print the tables."""
    print(f"{ARRIVALS} tuples, {LABELS} keys; counts for each tuple that arrives")
    for varied, settings in sweeps().items():
        for setting in settings:
            for name, work in works(setting, UNIFORM).items():
                _print_row(varied, setting, name, work)
    for width_s in WIDTHS_S:
        setting = replace(WIDE, wide_s=width_s)
        for name, work in works(setting, ANY_GRAPH).items():
            _print_row("wide_s", setting, name, work)
    settings, of_each = responses()
    print(f"\nresponse time in ms, {OPERATIONS_PER_S:,} operations/s: {', '.join(HASHED)}")
    for setting, *times_s in zip(settings, *of_each.values(), strict=True):
        print(f"{setting.rate_hz:>8g}/s" + "".join(f"{time_s * 1000:12.2f}" for time_s in times_s))


def _print_row(varied: str, setting: Setting, name: str, work: WindowWork) -> None:
    each = [count / setting.arrivals for count in (work.touched, work.windows_tested, work.predicates)]
    waits_s = work.waited_us / 1e6 / setting.arrivals, work.longest_wait_us / 1e6
    counts = "".join(f"{count:10.2f}" for count in each)
    print(f"{varied:>10} {getattr(setting, varied):<6g} {name:<18}{counts}{waits_s[0]:10.3f}{waits_s[1]:8.2f} s")


if __name__ == "__main__":
    main()
