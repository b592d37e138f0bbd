"""Which picks come from one earthquake? Point windows beside the timing join.

The automatic P and S picks of 60 stations are joined, picks of different stations with each other. A pair is right if
the catalogue associates both picks with one event. Three picks in four are associated with none; pairs with those
count as wrong, though some belong to earthquakes too small for the catalogue. So every precision is a lower bound, and
the same one for all competitors. `--picture FILE.svg` draws precision against recall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Detections, Pairs, Window, timing_join
from docs.pictures import figure, save
from docs.pictures.style import BLUE, GREEN, RED
from docs.studies.picks import (
    HALF_S,
    Half,
    Source,
    Templates,
    delays_of_first_half,
    exact_at,
    learnt,
    load_picks,
    of_phase,
)
from tests.reference.central_italy import why_absent

WINDOWS_S = (0.25, 0.5, 1.0, 2.0, 3.0)
THRESHOLDS = tuple(percent / 100 for percent in (*range(2, 20), *range(20, 85, 5)))
WIDTHS_S = tuple(np.arange(0.25, 12.01, 0.25).tolist())
PICTURED_S = 0.25  # the window of the timing join's best settings
LEAST_RECALL = 0.2
SHOWN_THRESHOLDS = (0.05, 0.1, 0.2, 0.4, 0.6)


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
        """Return one score for each setting: join once at the loosest, and judge what each setting leaves of it."""
        detections = half.detections(self.templates)
        if self.window_s is None:
            pairs = timing_join(detections, None, Window(WIDTHS_S[-1]), 1.0)
            apart_s = _seconds_apart(detections, pairs)
            kept = [(f"±{width:g} s", apart_s <= width) for width in WIDTHS_S]
        else:
            pairs = timing_join(detections, None, Window(self.window_s), THRESHOLDS[0])
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


def _seconds_apart(detections: Detections, pairs: Pairs) -> npt.NDArray[np.float64]:
    at_us = (detections.earliest_us + detections.latest_us) // 2
    return np.abs(at_us[pairs.right] - at_us[pairs.left]) / 1e6


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


Curves = list[tuple[Competitor, list[Score], list[Score]]]
"""Each competitor's scores in the first half and in the second, setting by setting."""


def f1(score: Score) -> float:
    """Prefer balance: the harmonic mean of precision and recall."""
    return 2 * score.precision * score.recall / max(score.precision + score.recall, 1e-12)


def precision(score: Score) -> float:
    """Prefer few wrong pairs, as long as `LEAST_RECALL` of the right ones are found."""
    return score.precision if score.recall >= LEAST_RECALL else 0.0


def tuned(curves: Curves, name: str, preferred: Callable[[Score], float]) -> Score:
    """Return how the setting that the first half prefers does in the second."""
    settings = [pair for of, first, second in curves if of.name == name for pair in zip(first, second, strict=True)]
    return max(settings, key=lambda pair: preferred(pair[0]))[1]


def best_settings(curves: Curves) -> Iterator[str]:
    """Yield a row for each aim and way to join: how the setting that the first half prefers does in the second."""
    for aim, preferred in (("F1", f1), (f"precision, recall ≥ {LEAST_RECALL:g}", precision)):
        for name in dict.fromkeys(of.name for of, _, _ in curves):
            score = tuned(curves, name, preferred)
            yield f"| {aim} | {name} | {score.setting} | {score.precision:.3f} | {score.recall:.3f} |"


def by_window_and_threshold(curves: Curves) -> Iterator[str]:
    """Yield a row for each window of the timing join: precision and recall in the second half."""
    for of, _, second in curves:
        if of.window_s is not None:
            scores = [second[THRESHOLDS.index(p)] for p in SHOWN_THRESHOLDS]
            shown = [f"{each.precision:.2f} / {each.recall:.2f}" if each.recall else "–" for each in scores]
            yield f"| ±{of.window_s:g} s | {' | '.join(shown)} |"


def measured(takes: Callable[[Competitor], bool] = lambda _: True) -> Curves:
    """Run the competitors that it takes on both halves of the morning."""
    picks = load_picks()
    first, second = (Half.of(each for each in picks if (each.second < HALF_S) == early) for early in (True, False))
    sources = sorted({each.source for each in picks})
    return [(of, of.scores(first), of.scores(second)) for of in competitors(sources) if takes(of)]


def pictured(curves: Curves) -> Curves:
    """Return what the picture shows: the point windows, and one of the timing join's."""
    return [curve for curve in curves if curve[0].window_s in {None, PICTURED_S}]


def numbers(curves: Curves) -> dict[str, list[float]]:
    """Precision and recall in the second half, setting by setting."""
    return {
        of.name: [x for each in second for x in (each.precision, each.recall)] for of, _, second in pictured(curves)
    }


def draw(curves: Curves, path: Path) -> None:
    """Draw precision against recall in the second half; dots where the first half says to go."""
    fig, ax = figure(6.4, 4.2)
    for (of, _, second), colour in zip(pictured(curves), ("0.65", BLUE, GREEN, RED), strict=True):
        some = [each for each in second if each.recall]  # without right pairs there is nothing to compare
        ax.plot(
            [each.recall for each in some],
            [each.precision for each in some],
            color=colour,
            label=of.name + (f", ±{of.window_s:g} s" if of.window_s else ""),
        )
        for preferred in (f1, precision):
            score = tuned(curves, of.name, preferred)
            ax.plot(score.recall, score.precision, "o", color=colour)
    ax.set(xlabel="recall", ylabel="precision (lower bound)", xlim=(0, 1), ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    save(fig, path, numbers(curves))


def tables(options: Options) -> Iterator[Table]:
    curves = measured(lambda of: not options.quick or of.window_s in {None, PICTURED_S})
    headings = ("best in the first half by", "join", "setting", "precision", "recall")
    yield Table(headings, best_settings(curves))
    windows = ("window", *(f"P ≥ {p:g}" for p in SHOWN_THRESHOLDS))
    yield Table(windows, by_window_and_threshold(curves))
    if options.picture:
        draw(curves, options.picture)


BENCHMARKS = [
    Benchmark(
        "central_italy_precision", "pairs of picks of one earthquake, by each way to join", [tables], why_not=why_absent
    )
]
