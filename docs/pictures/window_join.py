"""The pictures of docs/explanation/window-join.md, from the library itself.

`PICTURES` names each file, what draws it and which numbers it is known by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from coincide import (
    ConstraintGraph,
    Edge,
    Histogram,
    Window,
    joint_probabilities,
    match_probability,
    satisfaction_offsets,
)
from coincide.constraints.graph import implied_bounds
from docs.pictures.style import BLUE, EXPLANATION, GREEN, ORANGE, RED, Numbers, Pictures, figure

FOLDER = EXPLANATION / "window-join"

Point = tuple[float, float]
Places = Mapping[str, Point]

LINE: Places = {"gate": (0, 0.15), "bridge": (1, 0.85), "mill": (2, 0.15)}
SQUARE: Places = {"north": (0, 1), "east": (1.4, 1), "south": (1.4, 0), "west": (0, 0)}
TRIANGLE: Places = {"a": (0.5, 1), "b": (1, 0), "c": (0, 0)}
MINUTE = Window(lo_s=0, hi_s=60)
NEAR = Window(10)
FORMS: dict[str, tuple[ConstraintGraph, Places]] = {
    "path": (ConstraintGraph.path(list(LINE), MINUTE), LINE),
    "graph, a barrier": (
        ConstraintGraph.graph(
            [
                ("north", "east", Window(20)),
                ("east", "south", Window(30)),
                ("south", "west", Window(20)),
                ("west", "north", Window(40)),
                ("north", "south", Window(45)),
            ]
        ),
        SQUARE,
    ),
    "clique": (
        ConstraintGraph.clique("abc", {("a", "b"): Window(10), ("b", "c"): Window(15), ("a", "c"): Window(20)}),
        TRIANGLE,
    ),
    "uniform clique": (ConstraintGraph.clique("abc", NEAR), TRIANGLE),
}
"""The forms of the page, and where their streams are drawn."""

# The path of the page whose reports lie 14 s apart although its windows add up to 10 s.
CLOCK = Histogram.uniform(-2, 2)
STEP, THRESHOLD = Window(5.0), 0.125
REPORTED_S = {"gate": 0.0, "bridge": 7.0, "mill": 14.0}


def step_path() -> ConstraintGraph:
    """Return each within 5 s of the one before it."""
    return ConstraintGraph.path(list(REPORTED_S), STEP, THRESHOLD)


def hull_us() -> list[int]:
    """Return the least and greatest offset of an edge."""
    offsets_us = satisfaction_offsets(CLOCK, CLOCK, STEP, THRESHOLD)
    return [int(offsets_us[0, 0]), int(offsets_us[-1, 1])]


def draw_forms() -> Any:
    """Draw the forms: streams are dots, edges their windows; what the edges imply is dotted."""
    fig, axes = figure(9.6, 2.9, 1, len(FORMS) + 1)
    for ax, (name, (graph, places)) in zip(axes, FORMS.items(), strict=False):
        for edge in graph.edges:
            _draw_edge(ax, places[edge.a], places[edge.b], window_text(edge))
        _draw_implied(ax, graph, places)
        _draw_streams(ax, places, name)
    _draw_present(axes[-1])
    return fig


def window_text(edge: Edge) -> str:
    """Return a window as the picture has it."""
    if edge.window.is_symmetric:
        return f"±{edge.window.hi_s:g} s"
    return f"{edge.window.lo_s:g} to {edge.window.hi_s:g} s"


def _draw_edge(ax: Any, start: Point, end: Point, text: str, colour: str = "0.35", line: str = "-") -> None:
    (x, y), (to_x, to_y) = start, end
    ax.plot([x, to_x], [y, to_y], line, color=colour, linewidth=1.2, zorder=1)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    at = 0.35 if line == ":" else 0.5  # the diagonals of a square cross in the middle
    ax.text(
        x + at * (to_x - x), y + at * (to_y - y), text, ha="center", va="center", fontsize=7, color=colour, bbox=box
    )


def _draw_implied(ax: Any, graph: ConstraintGraph, places: Places) -> None:
    bounds_us = graph.window_bounds_us
    for a, b in unbound_pairs(graph):
        i, j = graph.roles.index(a), graph.roles.index(b)
        lo_s, hi_s = -bounds_us[j, i] / 1e6, bounds_us[i, j] / 1e6
        text = f"±{hi_s:g} s" if lo_s == -hi_s else f"{lo_s + 0:g} to {hi_s:g} s"
        _draw_edge(ax, places[a], places[b], text, BLUE, ":")


def unbound_pairs(graph: ConstraintGraph) -> list[tuple[str, str]]:
    """Return the pairs of streams that have no edge."""
    pairs = {edge.pair for edge in graph.edges}
    return [(a, b) for i, a in enumerate(graph.roles) for b in graph.roles[i + 1 :] if {a, b} not in pairs]


def _draw_streams(ax: Any, places: Places, title: str) -> None:
    for name, (x, y) in places.items():
        ax.plot(x, y, "o", color=RED, markersize=8, zorder=2)
        ax.text(x, y + (0.1 if y >= 0.5 else -0.1), name, ha="center", va="bottom" if y >= 0.5 else "top", fontsize=8)
    xs = [x for x, _ in places.values()]
    ax.set(title=title, xlim=(min(xs) - 0.4, max(xs) + 0.4), ylim=(-0.35, 1.35))
    ax.axis("off")


def _draw_present(ax: Any) -> None:
    """One of three is missing: the others are tied as ever."""
    _draw_edge(ax, TRIANGLE["a"], TRIANGLE["b"], window_text(FORMS["uniform clique"][0].edges[0]))
    for present in "ab":
        _draw_edge(ax, TRIANGLE[present], TRIANGLE["c"], "", "0.75", "--")
    _draw_streams(ax, TRIANGLE, "at least 2 of 3")
    ax.plot(*TRIANGLE["c"], "o", color=RED, markersize=8, markerfacecolor="white", zorder=3)


def numbers_of_forms() -> Numbers:
    """Implied bounds of every pair of streams."""
    return {name: (graph.window_bounds_us / 1e6).ravel().tolist() for name, (graph, _) in FORMS.items()}


def draw_reach() -> Any:
    """Draw the probability of an edge against its offset, and a path whose reports lie as far apart as they can."""
    fig, (left, right) = figure(9.0, 2.7, 1, 2)
    offset_s = np.linspace(-10, 10, 401)
    left.plot(offset_s, match_probability(CLOCK, CLOCK, offset_s, STEP), color="0.3")
    left.axhline(THRESHOLD, color=RED, linewidth=1, linestyle="--")
    left.text(-10.5, THRESHOLD + 0.02, f"threshold {THRESHOLD:g}", color=RED, ha="left", va="bottom", fontsize=8)
    lo_s, hi_s = (each / 1e6 for each in hull_us())
    left.axvspan(lo_s, hi_s, color=GREEN, alpha=0.25, linewidth=0)
    left.axvspan(-STEP.hi_s, STEP.hi_s, color=BLUE, alpha=0.2, linewidth=0)
    left.text(0, 0.45, "the window,\n±5 s", color=BLUE, ha="center", fontsize=8)
    left.text(0, 0.2, f"offsets that qualify,\n±{hi_s:g} s", color=GREEN, ha="center", fontsize=8)
    left.set(xlabel="reported after the one before, s", ylabel="P of the edge", ylim=(0, 1.05))
    _draw_reports(right)
    return fig


def _draw_reports(ax: Any) -> None:
    for row, (name, at_s) in enumerate(REPORTED_S.items()):
        ax.plot([at_s + CLOCK.earliest_s, at_s + CLOCK.latest_s], [-row, -row], color=ORANGE, linewidth=7, alpha=0.5)
        ax.plot(at_s, -row, "o", color=ORANGE, markersize=5)
        ax.text(at_s, -row + 0.2, name, ha="center", va="bottom", fontsize=8)
    for row, (start, end) in enumerate((("gate", "bridge"), ("bridge", "mill"))):
        x, to_x = REPORTED_S[start] + CLOCK.latest_s, REPORTED_S[end] + CLOCK.earliest_s
        step = {"arrowstyle": "<->", "color": BLUE}
        ax.annotate("", (x, -row - 0.5), (to_x, -row - 0.5), arrowprops=step)
        ax.text(to_x + 0.3, -row - 0.5, f"at least {to_x - x:g} s", color=BLUE, va="center", fontsize=8)
    ax.set(xlabel="s", xlim=(-4, 18), ylim=(-2.4, 0.8), yticks=[])
    ax.spines["left"].set_visible(False)


def numbers_of_reach() -> Numbers:
    """Probability at every second, the offsets that qualify, what they imply for the ends, the joint probability."""
    hull = hull_us()
    implied_us = implied_bounds(step_path().upper_us([(hull[0], hull[1])] * 2))
    times_us = [[round(at_s * 1e6)] for at_s in REPORTED_S.values()]
    joint = joint_probabilities(step_path(), [[CLOCK]] * 3, [[0]] * 3, times_us)
    return {
        "P": np.asarray(match_probability(CLOCK, CLOCK, np.arange(-10, 11), STEP)).tolist(),
        "offsets us": hull,
        "ends us": [int(implied_us[0, 2])],
        "joint": joint.value.tolist(),
    }


PICTURES: Pictures = {
    FOLDER / "forms.svg": (draw_forms, numbers_of_forms),
    FOLDER / "reach.svg": (draw_reach, numbers_of_reach),
}
