"""Figures 3 and 4 of the coalescing paper: what eager and lazy coalescing cost against both probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.coalescing_costs import CPS, OOPS, WEIGHTS, grid
from docs.pictures import Numbers, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#1f77b4", "#2ca02c", "#ff7f0e", "#d62728")
SHOWN_CPS, SHOWN_OOPS = (0.1, 0.3, 0.6, 1.0), (0.0, 0.1, 0.5, 1.0)


def draw_costs() -> Figure:
    """Draw the weighed cost of one query, a column for each set of weights."""
    drawn: Figure
    drawn, axes = figure(9.5, 5.2, 2, 4)
    for column, (title, weights) in zip(axes.T, WEIGHTS.items(), strict=True):
        costs = grid(weights)
        for color, oop in zip(COLORS, SHOWN_OOPS, strict=True):
            of_oop = OOPS.index(oop)
            column[0].plot(CPS, costs.eager[:, of_oop], "o-", color=color, markersize=3, label=f"eager, {oop:g} late")
        column[0].plot(CPS, costs.lazy[:, 0], "k--", label="lazy")
        for color, cp in zip(COLORS, SHOWN_CPS, strict=True):
            row = CPS.index(cp)
            column[1].plot(OOPS, costs.eager[row], "s-", color=color, markersize=3, label=f"eager, {cp:g} coalesce")
        column[1].plot(OOPS, costs.lazy[-1], "k--", label="lazy, all coalesce")
        column[0].set_title(f"{title}\n({weights.memory:g}, {weights.update:g}, {weights.scan:g})", fontsize=9)
        column[0].set_xlabel("coalescing, cp")
        column[1].set_xlabel("out of order, oop")
        for ax in column:
            ax.set(xlim=(-0.02, 1.02), ylim=(0, None))
    for ax in axes[:, 0]:
        ax.set_ylabel("weighed cost")
    drawn.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right upper")
    drawn.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside right lower")
    return drawn


def numbers() -> Numbers:
    """Return of each set of weights the costs at the corners of the grid, and how often eager coalescing wins."""
    grids = {title: grid(weights) for title, weights in WEIGHTS.items()}
    return {
        title: [*costs.eager[[0, 0, -1, -1], [0, -1, 0, -1]], *costs.lazy[[0, -1], 0], costs.eager_wins.sum()]
        for title, costs in grids.items()
    }
