"""The pictures of docs/explanation/timing-join.md, from the library itself.

`PICTURES` names each file, what draws it and which numbers it is known by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coincide import Histogram, Window, match_probability, satisfaction_offsets
from docs.pictures.style import BLUE, EXPLANATION, GREEN, ORANGE, RED, Numbers, Pictures, figure

FOLDER = EXPLANATION / "timing-join"

# The example of the page: a sensor that reports late, and one whose clock is off by up to a second either way.
LATE = Histogram.from_latency([(0, 1, 0.6), (1, 2, 0.3), (2, 4, 0.1)])
CLOCK = Histogram.uniform(-1, 1)
A_REPORTED_S, B_REPORTED_S = 10.0, 8.0
WINDOW, THRESHOLD = Window(2.0), 0.8
# A sensor that is right either 2 to 3 s before or 2 to 3 s after its report, and a window shorter than that.
TWOFOLD = Histogram([-3, -2, 2, 3], [0.5, 0, 0.5])
SHORT_WINDOW, SHORT_THRESHOLD = Window(0.5), 0.3


def density(template: Histogram) -> tuple[Any, Any]:
    """Return edges and heights of the histogram as a density."""
    return template.edges_s, template.mass / np.diff(template.edges_s)


def draw_reports() -> Any:
    """Two reports and when they may have happened."""
    fig, ax = figure(6.4, 2.6)
    for name, at_s, template, colour in (("a", A_REPORTED_S, LATE, BLUE), ("b", B_REPORTED_S, CLOCK, ORANGE)):
        edges_s, heights = density(template.shift(at_s))
        ax.stairs(heights, edges_s, fill=True, alpha=0.45, color=colour)
        ax.annotate(
            f"{name} reported",
            (at_s, 0),
            (at_s, 0.72 if name == "b" else 0.66),
            color=colour,
            ha="center",
            arrowprops={"arrowstyle": "->", "color": colour},
        )
    ax.text(7.9, 0.13, "b: clock off\nby up to 1 s", color=ORANGE, ha="right", va="bottom", fontsize=8)
    ax.text(9.95, 0.3, "a: reports late,\nmost often\nwithin 1 s", color=BLUE, ha="right", va="center", fontsize=8)
    ax.set(xlabel="when it happened, s", ylabel="density, 1/s", xlim=(5.5, 11.5), ylim=(0, 0.8))
    return fig


def draw_difference() -> Any:
    """How far apart the two occurrences lie, and the part inside the window."""
    fig, ax = figure(6.4, 2.6)
    offset_s = B_REPORTED_S - A_REPORTED_S
    x_s = np.linspace(-5, 4, 361)
    narrow = Window(0.005)  # P(within a hundredth of a second) / 0.01 s is the density
    shape = np.array(match_probability(LATE, CLOCK, offset_s - x_s, narrow)) / 0.01
    inside = np.abs(x_s) <= WINDOW.hi_s
    ax.plot(x_s, shape, color="0.3")
    ax.fill_between(x_s, shape, where=inside.tolist(), color=GREEN, alpha=0.5)
    probability = match_probability(LATE, CLOCK, offset_s, WINDOW)
    ax.text(-0.9, 0.13, f"P = {probability:.4f}", ha="center")
    for bound_s in (WINDOW.lo_s, WINDOW.hi_s):
        ax.axvline(bound_s, color=GREEN, linewidth=1, linestyle="--")
    ax.text(0, 0.505, "the window", color=GREEN, ha="center", va="top")
    ax.set(xlabel="b happened after a, s", ylabel="density, 1/s", xlim=(-5, 4), ylim=(0, 0.52))
    return fig


def draw_offsets(u: Histogram, v: Histogram, window: Window, threshold: float, reach_s: tuple[float, float]) -> Any:
    """Probability against the offset of the reports, and the offsets that qualify."""
    fig, ax = figure(6.4, 2.8)
    offset_s = np.linspace(*reach_s, 401)
    ax.plot(offset_s, match_probability(u, v, offset_s, window), color="0.3")
    ax.axhline(threshold, color=RED, linewidth=1, linestyle="--")
    ax.text(reach_s[1], threshold + 0.02, f"threshold {threshold:g}", color=RED, ha="right", va="bottom")
    for lo_us, hi_us in satisfaction_offsets(u, v, window, threshold).tolist():
        lo_s, hi_s = lo_us / 1e6, hi_us / 1e6
        ax.axvspan(lo_s, hi_s, color=GREEN, alpha=0.25, linewidth=0)
        ax.plot([lo_s, hi_s], [0, 0], color=GREEN, linewidth=5, solid_capstyle="butt", clip_on=False)
        where = f"{lo_s:.2f} to {hi_s:.2f} s".replace("-", "−")
        ax.text((lo_s + hi_s) / 2, 1.04, where, ha="center", va="bottom", color=GREEN, fontsize=8)
    ax.set(xlabel="b reported after a, s", ylabel="P", xlim=reach_s, ylim=(0, 1.15), yticks=np.linspace(0, 1, 6))
    return fig


def numbers_of_reports() -> Numbers:
    """Edges and densities of both."""
    (a_edges_s, a_heights), (b_edges_s, b_heights) = (density(template) for template in (LATE, CLOCK))
    return {"a edges": a_edges_s, "a density": a_heights, "b edges": b_edges_s, "b density": b_heights}


def numbers_of_difference() -> Numbers:
    """Return the cdf of how far apart they lie, at every half second, and the part inside the window."""
    offset_s = B_REPORTED_S - A_REPORTED_S
    cdf = [match_probability(LATE, CLOCK, offset_s, Window(lo_s=-9, hi_s=half / 2)) for half in range(-10, 9)]
    return {"cdf": cdf, "P": [match_probability(LATE, CLOCK, offset_s, WINDOW)]}


def numbers_of_offsets(u: Histogram, v: Histogram, window: Window, threshold: float) -> Numbers:
    """Probability at every half second, and the ends of the offsets that qualify."""
    offsets_us = satisfaction_offsets(u, v, window, threshold).ravel()
    return {"P": match_probability(u, v, np.arange(-12, 13) / 2, window), "offsets us": offsets_us}


Example = tuple[Histogram, Histogram, Window, float]
LONG: Example = (LATE, CLOCK, WINDOW, THRESHOLD)
SHORT: Example = (TWOFOLD, Histogram.point(), SHORT_WINDOW, SHORT_THRESHOLD)
PICTURES: Pictures = {
    FOLDER / "reports.svg": (draw_reports, numbers_of_reports),
    FOLDER / "difference.svg": (draw_difference, numbers_of_difference),
    FOLDER / "offsets.svg": (lambda: draw_offsets(*LONG, (-6, 4)), lambda: numbers_of_offsets(*LONG)),
    FOLDER / "short-window.svg": (lambda: draw_offsets(*SHORT, (-5, 5)), lambda: numbers_of_offsets(*SHORT)),
}
