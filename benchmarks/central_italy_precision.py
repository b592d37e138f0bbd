"""Which picks come from one earthquake? Point windows beside the timing join, on the Central Italy morning.

`python -m benchmarks.central_italy_precision [--picture FILE.svg]`: everything that can be tuned is tuned on the first
half of the morning and measured on the second. What is joined are the automatic P and S picks of 60 stations, picks
of different stations with each other. A pair is right if the catalogue associates both picks with one event. Three
picks in four are associated with none; pairs with those count as wrong, though some belong to earthquakes too small
for the catalogue, so every precision is a lower bound, and the same one for all competitors.

`COINCIDE_DATA` names the folder that holds central-italy-2016 (see tests/reference/central_italy.py).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from benchmarks.central_italy_picks import (
    HALF_S,
    Half,
    Samples,
    Source,
    Templates,
    delays_of_first_half,
    load_picks,
)
from coincide import Detections, Histogram, Pairs, Window, timing_join
from tests.reference.central_italy import why_absent

PICTURED_S = 1.0
LEAST_RECALL = 0.2
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


def print_tables(curves: Curves) -> None:
    """Print what goes into docs/timing-join.md."""
    print("| best in the first half by | join | setting | precision | recall |\n|---|---|---|---|---|")
    for aim, preferred in (("F1", f1), (f"precision, recall ≥ {LEAST_RECALL:g}", precision)):
        for name in dict.fromkeys(of.name for of, _, _ in curves):
            score = tuned(curves, name, preferred)
            print(f"| {aim} | {name} | {score.setting} | {score.precision:.3f} | {score.recall:.3f} |")
    shown = (0.05, 0.1, 0.2, 0.4, 0.6)
    print(f"\n| window | {' | '.join(f'P ≥ {p:g}' for p in shown)} |\n|---|{'---|' * len(shown)}")
    for of, _, second in curves:
        if of.name == "timing join":
            scores = [second[THRESHOLDS.index(p)] for p in shown]
            cells = [f"{each.precision:.2f} / {each.recall:.2f}" if each.recall else "–" for each in scores]
            print(f"| ±{of.window_s:g} s | {' | '.join(cells)} |")


def main() -> None:
    """Print the tables; draw the picture if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw precision against recall")
    picture = parser.parse_args().picture
    if reason := why_absent():
        print(f"skipped: {reason}")
        return
    picks = load_picks()
    first, second = (Half.of(each for each in picks if (each.second < HALF_S) == early) for early in (True, False))
    sources = sorted({each.source for each in picks})
    curves: Curves = [(of, of.scores(first), of.scores(second)) for of in competitors(sources)]
    print_tables(curves)
    if picture:
        draw(curves, picture)


def draw(curves: Curves, path: Path) -> None:
    """Draw precision against recall in the second half; dots where the first half says to go."""
    from docs.timing_join_pictures import figure, saved  # noqa: PLC0415 - matplotlib is for pictures alone

    fig, ax = figure(6.4, 4.2)
    shown = curves[:3] + [curve for curve in curves if curve[0].window_s == PICTURED_S][:1]
    for (of, _, second), colour in zip(shown, ("0.65", "C0", "C2", "C3"), strict=True):
        ax.plot(
            [each.recall for each in second],
            [each.precision for each in second],
            color=colour,
            label=of.name + (f", ±{of.window_s:g} s" if of.window_s else ""),
        )
        for preferred in (f1, precision):
            score = tuned(curves, of.name, preferred)
            ax.plot(score.recall, score.precision, "o", color=colour)
    ax.set(xlabel="recall", ylabel="precision (lower bound)", xlim=(0, 1), ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    saved(fig, path)


if __name__ == "__main__":
    main()
