"""Costs of eager and lazy coalescing by the cost model, as in Figures 3 and 4 of the coalescing paper.

Run as ``python -m benchmarks.coalescing_costs``. It prints where each scheme is the cheaper for one query.
"""

from __future__ import annotations

from typing import NamedTuple

from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.coalescing import PAPER, DistinctQuery, Weights, scheme_costs

W, K = 200, 2000  # the costs are normalised: w hardly counts
CPS = tuple(tenth / 10 for tenth in range(1, 11))  # at 0 a late tuple costs without bound
OOPS = tuple(tenth / 10 for tenth in range(11))
WEIGHTS = {
    "Figure 3 (a)": Weights(1, 1, 1),
    "Figure 3 (b)": Weights(1, 50, 1),
    "Figure 3 (c)": Weights(1, 100, 1),
    "Figure 4": Weights(0, 1, 1),
}


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


def main() -> None:
    for title, weights in WEIGHTS.items():
        print(f"{title}, weights ({weights.memory:g}, {weights.update:g}, {weights.scan:g}): E eager, . lazy")
        print("   cp \\ oop", " ".join(f"{oop:3.1f}" for oop in OOPS))
        for cp, row in zip(CPS, grid(weights).eager_wins, strict=True):
            print(f"{cp:11.1f}", " ".join(" E " if wins else " . " for wins in row))


if __name__ == "__main__":
    main()
