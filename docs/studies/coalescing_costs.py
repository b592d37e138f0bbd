"""Figures 3 and 4 of the coalescing paper: costs of eager and lazy coalescing by the cost model, for one query.

The unit costs are `PAPER`: fitted to the choices in the paper's Tables 5 and 6, not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.coalescing import PAPER, DistinctQuery, Weights, scheme_costs
from docs.pictures import Numbers, figure
from docs.pictures.style import BLUE, GREEN, ORANGE, RED

W, K = 200, 2000  # the costs are normalised: w hardly counts
CPS = tuple(tenth / 10 for tenth in range(1, 11))  # at 0 a late tuple costs without bound
OOPS = tuple(tenth / 10 for tenth in range(11))
WEIGHTS = {
    "Figure 3 (a)": Weights(1, 1, 1),
    "Figure 3 (b)": Weights(1, 50, 1),
    "Figure 3 (c)": Weights(1, 100, 1),
    "Figure 4": Weights(0, 1, 1),
}
COLORS = (BLUE, GREEN, ORANGE, RED)
SHOWN_CPS, SHOWN_OOPS = (0.1, 0.3, 0.6, 1.0), (0.0, 0.1, 0.5, 1.0)


class Grid(NamedTuple):
    """Costs of one query by either scheme; rows are CPS, columns OOPS."""

    eager: FloatArray
    lazy: FloatArray

    @property
    def eager_wins(self) -> BoolArray:
        wins: BoolArray = self.eager < self.lazy
        return wins


def grid(weights: Weights) -> Grid:
    """Return the costs of one query at all probabilities; alone, it pays for the lazy extent."""
    costs = scheme_costs([DistinctQuery(cp, oop) for cp in CPS for oop in OOPS], weights, PAPER, W, K)
    shape = len(CPS), len(OOPS)
    return Grid(costs.eager.reshape(shape), (costs.lazy_scan + costs.lazy_shared).reshape(shape))


def draw_costs() -> Any:
    """Draw the weighed cost of one query, a column for each set of weights."""
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


def tables(_: Options) -> Iterator[Table]:
    for title, weights in WEIGHTS.items():
        of = f"{title}, fitted unit costs, weights ({weights.memory:g}, {weights.update:g}, {weights.scan:g}):"
        wins = grid(weights).eager_wins
        rows = [[cp, *("eager" if each else "lazy" for each in row)] for cp, row in zip(CPS, wins, strict=True)]
        yield Table(("cp", *(f"oop {oop:g}" for oop in OOPS)), rows, of)


BENCHMARKS = [Benchmark("coalescing_costs", "eager and lazy coalescing by the paper's cost model", [tables])]
