"""What each algorithm of the papers does for the same answer, in counts: against window, threshold and buckets.

Run as ``python -m benchmarks.paper_costs``; prints a table of counts for each event that arrives. Counts do not
depend on the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from coincide import Detections, Histogram, Window
from coincide.papers.timing_algorithms import ALGORITHMS, PaperAlgorithm
from coincide.papers.timing_events import Arrivals
from coincide.papers.timing_replay import Work

EVENTS = 100  # a side, one a second on average
TEMPLATES = 8  # a side
WINDOWS_S = (4.0, 6.0, 8.0, 12.0, 16.0)  # the longest templates of both sides together are 8 s long
THRESHOLDS = (0.05, 0.2, 0.5, 0.8, 0.95)
BUCKETS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Setting:
    """What is joined: streams whose templates have so many buckets, a window and a threshold."""

    window_s: float = 8.0
    threshold: float = 0.8
    buckets: int = 1

    def arrivals(self) -> Arrivals:
        """Return two streams that arrive up to a second late; templates are 1 to 4 s long."""
        random, of_mass = np.random.default_rng(1987), np.random.default_rng(self.buckets)
        a, b = (_stream(random, _templates(of_mass, self.buckets)) for _ in range(2))
        reported_us = np.concatenate((a.detected_at_us, b.detected_at_us))
        return Arrivals(a, b, np.argsort(reported_us + random.integers(0, 1_000_000, 2 * EVENTS)))


def sweeps(usual: Setting = Setting()) -> dict[str, list[Setting]]:
    """Return the settings of each series: one thing varies, the rest is as usual."""
    return {
        "window_s": [replace(usual, window_s=window_s) for window_s in WINDOWS_S],
        "threshold": [replace(usual, threshold=threshold) for threshold in THRESHOLDS],
        "buckets": [replace(usual, buckets=buckets) for buckets in BUCKETS],
    }


def costs(settings: list[Setting]) -> dict[str, list[Work | None]]:
    """Return the work of each algorithm in each setting; None where its assumptions do not hold."""
    arrivals = [setting.arrivals() for setting in settings]
    return {
        algorithm.name: [_work(algorithm, each, setting) for each, setting in zip(arrivals, settings, strict=True)]
        for algorithm in ALGORITHMS
    }


def main() -> None:
    """Print the table."""
    print(f"{EVENTS} events and {TEMPLATES} templates a side; counts for each event that arrives, and the most held")
    print(f"{'varied':>10} {'value':<6} {'algorithm':<18} scanned  evaluated  looked up  held")
    for varied, settings in sweeps().items():
        for algorithm, works in costs(settings).items():
            for setting, work in zip(settings, works, strict=True):
                if work is not None:
                    _print_row(varied, getattr(setting, varied), algorithm, work)


def _stream(random: np.random.Generator, templates: list[Histogram]) -> Detections:
    times_us = np.sort(random.integers(0, EVENTS * 1_000_000, EVENTS))
    return Detections(times_us, templates, random.integers(0, TEMPLATES, EVENTS))


def _templates(random: np.random.Generator, buckets: int) -> list[Histogram]:
    lengths_s = np.linspace(1.0, 4.0, TEMPLATES).tolist()
    masses = random.dirichlet(np.full(buckets, 4.0), TEMPLATES)
    ends = np.linspace(-1.0, 0.0, buckets + 1)
    return [Histogram(length_s * ends, mass) for length_s, mass in zip(lengths_s, masses, strict=True)]


def _work(algorithm: PaperAlgorithm, arrivals: Arrivals, setting: Setting) -> Work | None:
    if algorithm.uniform_templates_only and setting.buckets > 1:
        return None
    return algorithm.run(arrivals, Window(setting.window_s), setting.threshold).work


def _print_row(varied: str, value: float, algorithm: str, work: Work) -> None:
    scanned, evaluated, looked_up = (count / (2 * EVENTS) for count in (work.scanned, work.probabilities, work.lookups))
    counts = f"{scanned:8.1f} {evaluated:10.1f} {looked_up:10.1f} {work.buffered:5d}"
    print(f"{varied:>10} {value:<6g} {algorithm:<18}{counts}")


if __name__ == "__main__":
    main()
