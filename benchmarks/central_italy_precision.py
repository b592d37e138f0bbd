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
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.central_italy_competitors import THRESHOLDS, Competitor, Score, competitors
from benchmarks.central_italy_picks import HALF_S, Half, load_picks
from docs.pictures import figure, save
from tests.reference.central_italy import why_absent

PICTURED_S = 0.25  # the window of the timing join's best settings
LEAST_RECALL = 0.2
SHOWN_THRESHOLDS = (0.05, 0.1, 0.2, 0.4, 0.6)

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
            cells = [f"{each.precision:.2f} / {each.recall:.2f}" if each.recall else "–" for each in scores]
            yield f"| ±{of.window_s:g} s | {' | '.join(cells)} |"


def measured(wanted: Callable[[Competitor], bool] = lambda _: True) -> Curves:
    """Run the competitors that are wanted on both halves of the morning."""
    picks = load_picks()
    first, second = (Half.of(each for each in picks if (each.second < HALF_S) == early) for early in (True, False))
    sources = sorted({each.source for each in picks})
    return [(of, of.scores(first), of.scores(second)) for of in competitors(sources) if wanted(of)]


def print_tables(curves: Curves) -> None:
    """Print what goes into docs/timing-join.md."""
    print("| best in the first half by | join | setting | precision | recall |\n|---|---|---|---|---|")
    print(*best_settings(curves), sep="\n")
    print(f"\n| window | {' | '.join(f'P ≥ {p:g}' for p in SHOWN_THRESHOLDS)} |")
    print("|---" * (1 + len(SHOWN_THRESHOLDS)) + "|", *by_window_and_threshold(curves), sep="\n")


def main() -> None:
    """Print the tables; draw the picture if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw precision against recall")
    picture = parser.parse_args().picture
    if reason := why_absent():
        print(f"skipped: {reason}")
        return
    curves = measured()
    print_tables(curves)
    if picture:
        draw(curves, picture)


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
    for (of, _, second), colour in zip(pictured(curves), ("0.65", "C0", "C2", "C3"), strict=True):
        found = [each for each in second if each.recall]  # without right pairs there is nothing to compare
        ax.plot(
            [each.recall for each in found],
            [each.precision for each in found],
            color=colour,
            label=of.name + (f", ±{of.window_s:g} s" if of.window_s else ""),
        )
        for preferred in (f1, precision):
            score = tuned(curves, of.name, preferred)
            ax.plot(score.recall, score.precision, "o", color=colour)
    ax.set(xlabel="recall", ylabel="precision (lower bound)", xlim=(0, 1), ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    save(fig, path, numbers(curves))


if __name__ == "__main__":
    main()
