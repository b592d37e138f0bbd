"""Ways to join the picks of the Central Italy morning, each with one setting that is swept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt

from benchmarks.central_italy_picks import Half, Samples, Source, Templates, delays_of_first_half
from coincide import Detections, Histogram, Pairs, Window, timing_join

FEWEST_SAMPLES = 30  # as many as a histogram needs; a station and phase with fewer has the template of its phase
WINDOWS_S = (0.25, 0.5, 1.0, 2.0, 3.0)
THRESHOLDS = tuple(percent / 100 for percent in (*range(2, 20), *range(20, 85, 5)))
WIDTHS_S = tuple(np.arange(0.25, 12.01, 0.25).tolist())


@dataclass(frozen=True)
class Score:
    """How a competitor did with one setting."""

    setting: str
    precision: float
    recall: float


@dataclass(frozen=True)
class Competitor:
    """A way to join, with one setting to be swept: a width, or a threshold."""

    name: str
    templates: Templates
    window_s: float | None = None  # None: a point window, whose width is swept

    def scores(self, half: Half) -> list[Score]:
        """Return one score for each setting: one join at the loosest, and then what is left of its pairs."""
        frame = half.frame(self.templates)
        if self.window_s is None:
            pairs = timing_join(frame, None, Window(WIDTHS_S[-1]), 1.0)
            apart_s = _seconds_apart(frame, pairs)
            kept = [(f"±{width:g} s", apart_s <= width) for width in WIDTHS_S]
        else:
            pairs = timing_join(frame, None, Window(self.window_s), THRESHOLDS[0])
            kept = [(f"±{self.window_s:g} s, P ≥ {p:g}", pairs.probability >= p - 1e-12) for p in THRESHOLDS]
        right = half.are_right(pairs)
        return [
            Score(
                setting,
                float(right[these].sum() / max(these.sum(), 1)),
                float(right[these].sum() / len(half.right_pairs)),
            )
            for setting, these in kept
        ]


def _seconds_apart(frame: Detections, pairs: Pairs) -> npt.NDArray[np.float64]:
    """Return how far apart exact times lie."""
    at_us = (frame.earliest_us + frame.latest_us) // 2
    return np.abs(at_us[pairs.right] - at_us[pairs.left]) / 1e6


def of_phase(samples: Samples) -> dict[str, list[float]]:
    """Return the samples of all stations, by phase."""
    return {phase: [x for (_, of), values in samples.items() if of == phase for x in values] for phase in ("P", "S")}


def happened_after(delays_s: list[float]) -> Histogram:
    """Return the distribution of (happened - picked)."""
    return Histogram.from_samples([-delay_s for delay_s in delays_s])


def learnt(samples: Samples, sources: Iterable[Source]) -> dict[Source, Histogram]:
    """Return a template for each source."""
    phases = {phase: happened_after(values) for phase, values in of_phase(samples).items()}
    own = {source: happened_after(values) for source, values in samples.items() if len(values) >= FEWEST_SAMPLES}
    return {source: own.get(source, phases[source[1]]) for source in sources}


def exact_at(delay_s: Mapping[Source, float]) -> dict[Source, Histogram]:
    """Return templates that correct each source by a constant and know nothing of uncertainty."""
    return {source: Histogram.point().shift(-delay) for source, delay in delay_s.items()}


def competitors(sources: list[Source]) -> list[Competitor]:
    """Return the competitors, everything they know learnt from the first half."""
    delays = delays_of_first_half()
    phase = {name: fmean(values) for name, values in of_phase(delays).items()}
    templates = learnt(delays, sources)
    return [
        Competitor("point window", exact_at(dict.fromkeys(sources, 0.0))),
        Competitor("point window, a constant a phase", exact_at({of: phase[of[1]] for of in sources})),
        Competitor(
            "point window, a constant a station and phase", exact_at({of: -templates[of].mean_s for of in sources})
        ),
        *(Competitor("timing join", templates, window_s) for window_s in WINDOWS_S),
    ]
