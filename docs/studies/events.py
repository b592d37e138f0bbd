"""Which aftershocks did at least 4 of 12 stations see? Exact times beside templates.

Matches are the sets of picks of at least 4 stations in a clique of one window, as probable as a threshold, that cannot
grow; once for P picks and once for P and S picks. Sets that share a pick are one alarm, the largest of them. It
belongs to a labelled event if more than half of its picks do. Stations, templates and the setting of each way to join
come from the first half of the morning. `--picture FILE.svg` draws precision against recall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness.declaration import Benchmark, Options, Table
from docs.pictures import Numbers, figure, numbers_in, save
from docs.pictures.style import GREEN, RED
from docs.studies.picks import (
    HALF_S,
    Pick,
    Templates,
    delays_of_first_half,
    exact_at,
    learnt,
    load_picks,
)
from docs.studies.sets import Tally, best_labelled, maximal_sets
from tests.reference.central_italy import why_absent

PHASES = {"P": ("P",), "P and S": ("P", "S")}
POINT, CONSTANT, OURS = "point window", "point window, a constant a station and phase", "window join, templates"
WIDTHS_S = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
WINDOW_S = 0.5
THRESHOLDS = (0.075, 0.1, 0.125, 0.15, 0.175, 0.2, 0.225, 0.25, 0.275, 0.3)
SETTINGS = {
    POINT: tuple((width_s, 1.0) for width_s in WIDTHS_S),
    CONSTANT: tuple((width_s, 1.0) for width_s in WIDTHS_S),
    OURS: tuple((WINDOW_S, threshold) for threshold in THRESHOLDS),
}
SHOWN_WINDOWS_S, SHOWN_THRESHOLDS = (0.25, 0.5, 1.0, 2.0), (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
LEAST_RECALL = 0.5

Counts = Sequence[float]  # sets, alarms, precision, recall
Curve = list[tuple[str, Counts, Counts]]
"""For each setting its name and counts in the first half and in the second."""


class Aim(NamedTuple):
    """What to prefer in the first half."""

    name: str
    worth: Callable[[Counts], float]


AIMS = (
    Aim("F1", lambda of: 2 * of[2] * of[3] / max(of[2] + of[3], 1e-12)),
    Aim(f"precision, recall ≥ {LEAST_RECALL:g}", lambda of: of[2] if of[3] >= LEAST_RECALL else 0.0),
)


@dataclass(frozen=True)
class Morning:
    """The picks, and all that is learnt from the first half of them."""

    picks: Sequence[Pick]

    @cached_property
    def stations(self) -> list[str]:
        return best_labelled(self.picks)

    @cached_property
    def templates(self) -> dict[str, Templates]:
        sources = [(station, phase) for station in self.stations for phase in ("P", "S")]
        ours = learnt(delays_of_first_half(), sources)
        mean_s = {source: -template.mean_s for source, template in ours.items()}
        return {POINT: exact_at(dict.fromkeys(sources, 0.0)), CONSTANT: exact_at(mean_s), OURS: ours}

    def half(self, phases: str, *, early: bool) -> list[Pick]:
        return [pick for pick in self.picks if self._counts(pick, phases) and (pick.second < HALF_S) == early]

    def tally(self, phases: str, join: str, setting: tuple[float, float], *, early: bool = False) -> Tally:
        of = self.half(phases, early=early)
        templates = self.templates[join]
        return Tally.of(maximal_sets(of, self.stations, templates, *setting), of)

    def _counts(self, pick: Pick, phases: str) -> bool:
        return pick.source[0] in self.stations and pick.source[1] in PHASES[phases]


def measured(morning: Morning) -> dict[str, list[float]]:
    """Return sets, alarms, precision and recall of both halves, setting after setting."""
    return {
        f"{phases}: {join}": [
            value
            for setting in SETTINGS[join]
            for early in (True, False)
            for value in counts(morning.tally(phases, join, setting, early=early))
        ]
        for phases in PHASES
        for join in SETTINGS
    }


def counts(tally: Tally) -> list[float]:
    return [tally.sets, tally.alarms, tally.precision, tally.recall]


def curve(numbers: Mapping[str, Sequence[float]], phases: str, join: str) -> Curve:
    """Read what `measured` returned, or a picture kept."""
    flat = numbers[f"{phases}: {join}"]
    starts = range(0, len(flat), 8)
    names = [named(setting) for setting in SETTINGS[join]]
    return [(name, flat[at : at + 4], flat[at + 4 : at + 8]) for name, at in zip(names, starts, strict=True)]


def named(setting: tuple[float, float]) -> str:
    window_s, threshold = setting
    return f"±{window_s:g} s" + ("" if threshold == 1 else f", P ≥ {threshold:g}")


def best(of: Curve, aim: Aim) -> tuple[str, Counts, Counts]:
    return max(of, key=lambda each: aim.worth(each[1]))


def best_settings(numbers: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield a row for each kind of picks, aim and way to join: what the preferred setting does in the second half."""
    for phases in PHASES:
        for aim in AIMS:
            for join in SETTINGS:
                name, _, (*many, precision, recall) = best(curve(numbers, phases, join), aim)
                shown = [phases, aim.name, join, name, *(f"{count:,.0f}" for count in many)]
                yield f"| {' | '.join(shown)} | {precision:.3f} | {recall:.3f} |"


def by_window(morning: Morning, window_s: float) -> str:
    """Return a row: precision and recall of P picks in the second half at each threshold."""
    tallies = [morning.tally("P", OURS, (window_s, threshold)) for threshold in SHOWN_THRESHOLDS]
    shown = [f"{each.precision:.2f} / {each.recall:.2f}" if each.sets else "–" for each in tallies]
    return f"| ±{window_s:g} s | {' | '.join(shown)} |"


def draw(numbers: Numbers, path: Path) -> None:
    """Draw precision against recall in the second half; dots where the first half says to go."""
    kept = {name: list(values) for name, values in numbers.items()}
    fig, axes = figure(8.0, 3.6, 1, len(PHASES))
    for ax, phases in zip(axes, PHASES, strict=True):
        for join, colour in zip(SETTINGS, ("0.55", GREEN, RED), strict=True):
            _draw_curve(ax, curve(kept, phases, join), join, colour)
        ax.set(xlabel="recall", title=f"{phases} picks", xlim=(0, 1.02), ylim=(0, 1))
    axes[0].set_ylabel("precision (lower bound)")
    axes[0].legend(loc="lower left", fontsize=8)
    save(fig, path, kept)


def _draw_curve(ax: Any, of: Curve, join: str, colour: str) -> None:
    label = f"{join}, ±{WINDOW_S:g} s" if join == OURS else join
    ax.plot([late[3] for *_, late in of], [late[2] for *_, late in of], color=colour, label=label)
    for aim in AIMS:
        *_, (_, _, precision, recall) = best(of, aim)
        ax.plot(recall, precision, "o", color=colour)


def tables(options: Options) -> Iterator[Table]:
    morning = Morning(load_picks())
    if not options.quick:
        numbers = numbers_in(options.picture) if options.again and options.picture else measured(morning)
        headings = ("picks", "best in the first half by", "join", "setting", "sets", "alarms", "precision", "recall")
        yield Table(headings, best_settings(numbers))
        if options.picture:
            draw(numbers, options.picture)
    widths_s = SHOWN_WINDOWS_S[:1] if options.quick else SHOWN_WINDOWS_S
    windows = ("window", *(f"P ≥ {p:g}" for p in SHOWN_THRESHOLDS))
    yield Table(windows, (by_window(morning, width_s) for width_s in widths_s))


BENCHMARKS = [
    Benchmark("central_italy_events", "aftershocks seen by at least 4 of 12 stations", [tables], why_not=why_absent)
]
