"""Figure 1 of the interval paper: bounds of the satisfaction probability, and the regions they cut out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmarks.shading import shade
from coincide import Detections, Histogram, Window, match_probability
from coincide.papers.interval_timing.regions import RegionTable
from coincide.papers.timing_events import Arrivals
from docs.pictures import Numbers, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX1_S = 2.0
BASE, SHORTEST, LONGEST = (Histogram.uniform(-length_s, 0) for length_s in (0.4, 0.2, 0.9))
WINDOW, CT = Window(1.0), 0.7


def draw_bounds() -> Figure:
    """Draw both bounds against max(I2), and LH, LL, RL, RH where they cross the threshold."""
    x_s = np.linspace(0.3, 4.2, 781)
    of_both = _probabilities(x_s)
    drawn: Figure
    drawn, ax = figure(8, 4)
    ax.plot(x_s, np.maximum(*of_both), "-", color="black", label="upper bound")
    ax.plot(x_s, np.minimum(*of_both), ":", color="black", label="lower bound")
    ax.axhline(CT, color="#d62728", linewidth=0.8)
    ax.text(0.32, CT + 0.02, f"ct = {CT:g}", color="#d62728")
    ends_s = _regions_s()
    for name, end_s in zip(("LH", "LL", "RL", "RH"), ends_s, strict=True):
        ax.plot([end_s, end_s], [-0.1, CT], "--", color="0.4", linewidth=0.8)
        outside = name in {"LH", "RH"}  # outside the upper bound and above the line, or inside the lower and below
        x_shift_s = -0.02 if name in {"LH", "RL"} else 0.02
        ax.text(end_s + x_shift_s, CT + (0.02 if outside else -0.06), name, ha="right" if x_shift_s < 0 else "left")
    shade(ax, ends_s, y=-0.16, height=0.12, names=("probe", "all match", "probe"))
    lengths = (
        f"I1 = ({MAX1_S - BASE.length_s:g}, {MAX1_S:g}), I2 from {SHORTEST.length_s:g} to {LONGEST.length_s:g} long"
    )
    ax.set(xlabel=f"max(I2), seconds   [{lengths}, d = {WINDOW.hi_s:g}]", ylabel="satisfaction probability")
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.legend(loc="center")
    return drawn


def numbers() -> Numbers:
    """Probabilities at every fifth of a second, and where the regions end."""
    of_shortest, of_longest = _probabilities(np.arange(2, 22) / 5)
    return {"shortest": of_shortest, "longest": of_longest, "LH, LL, RL, RH": _regions_s()}


def _probabilities(x_s: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    return [match_probability(BASE, partner, x_s - MAX1_S, WINDOW) for partner in (SHORTEST, LONGEST)]


def _regions_s() -> tuple[float, float, float, float]:
    arrivals = Arrivals(Detections([round(MAX1_S * 1e6)], [BASE]), Detections([], [SHORTEST, LONGEST]))
    found = RegionTable(arrivals, "a", WINDOW, CT).of(arrivals.events[0])
    return found.lh_us / 1e6, found.ll_us / 1e6, found.rl_us / 1e6, found.rh_us / 1e6
