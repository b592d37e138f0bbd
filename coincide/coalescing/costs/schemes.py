"""What each distinct query costs eagerly and lazily (Equations 7 to 10), and which queries to coalesce eagerly.

Source: Al-Kateb, Kunta and Lee: Temporal Coalescing on Window Extents over Data Streams (2010), section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.arrays.numbers import is_whole
from coincide.coalescing.costs.model import eager_memory, eager_scan, eager_update, lazy_memory, lazy_scan, lazy_update
from coincide.coalescing.costs.units import UnitCosts, refuse_unless_costs
from coincide.errors import CostError


@dataclass(frozen=True)
class Weights:
    """How much memory, updates and scans count (the paper's lambdas): finite, at least 0."""

    memory: float
    update: float
    scan: float

    def __post_init__(self) -> None:
        refuse_unless_costs(self, "a finite number")


@dataclass(frozen=True)
class DistinctQuery:
    """A distinct coalescing query: all queries that coalesce the same attributes by the same groups.

    `cp` is the probability that a tuple coalesces with the one before it in its group, `oop` that it arrives out of
    order.
    """

    cp: float
    oop: float = 0.0


@dataclass(frozen=True)
class SchemeCosts:
    """Weighed costs of n distinct coalescing queries by either scheme, in columns of shape (n,).

    `eager` is an extent of its own, stored, updated and scanned: infinite where tuples are late and none coalesces.
    `lazy_scan` are a query's scans of the extent that all lazy queries share. To store and update that extent costs
    `lazy_shared`, to be paid once if any query is lazy.
    """

    eager: FloatArray
    lazy_scan: FloatArray
    lazy_shared: float


def scheme_costs(queries: Sequence[DistinctQuery], weights: Weights, costs: UnitCosts, w: int, k: int) -> SchemeCosts:
    """Return what each query costs by either scheme after k tuples: Equations 9 and 10.

    Memory is divided by that of the lazy extent, scans by those of a lazy extent in which all coalesces, updates by
    those of an eager extent in which every tuple is late and coalesces: one search each in the longest vector. The
    paper calls them greatest possible; the last is not, since splitting is dearer where little coalesces.

    `w` is how many tuples the window has, and `k` how many have arrived: at least 1. With k >> w the window's filling
    hardly counts. `costs` should be those of `measure_costs`; `PAPER` only repeats the paper's choices, to which it was
    fitted. A CostError says that a probability is outside [0, 1], or that `w` or `k` is below 1.

    Examples
    --------
    >>> from coincide.coalescing import PAPER
    >>> costs = scheme_costs([DistinctQuery(0.1), DistinctQuery(0.8)], Weights(1, 1, 2), PAPER, w=100, k=10_000)
    >>> costs.eager.round(2).tolist(), costs.lazy_scan.round(2).tolist(), round(costs.lazy_shared, 2)
    ([2.24, 1.51], [1.81, 1.96], 1.08)
    """
    if not is_whole(k) or k < 1:
        raise CostError("k", k, "a whole number of tuples, at least 1")
    most_memory = lazy_memory(costs, k, w)[-1]
    most_update = eager_update(costs, np.ones(k), np.ones(k), w)[-1]
    most_scan = lazy_scan(costs, np.ones(k), w)[-1]
    eager, lazy = np.zeros(len(queries)), np.zeros(len(queries))
    for j, query in enumerate(queries):
        cp, oop = np.full(k, query.cp), np.full(k, query.oop)
        eager[j] = weights.memory * eager_memory(costs, cp, w)[-1] / most_memory
        eager[j] += _weighed(weights.update, eager_update(costs, cp, oop, w)[-1] / most_update)
        eager[j] += weights.scan * eager_scan(costs, cp, w)[-1] / most_scan
        lazy[j] = weights.scan * lazy_scan(costs, cp, w)[-1] / most_scan
    shared = weights.memory + weights.update * lazy_update(costs, k, w)[-1] / most_update
    return SchemeCosts(eager, lazy, float(shared))


def _weighed(weight: float, cost: float) -> float:
    """Return the product; what has no weight costs nothing, even if it is infinite."""
    return weight * cost if weight > 0 else 0.0


@dataclass(frozen=True)
class Selection:
    """Whether each query is coalesced eagerly, bool (n,), and what all cost; the others share one lazy extent."""

    eager: BoolArray
    cost: float


def cost_of(costs: SchemeCosts, eager: BoolArray) -> float:
    """Return what a choice of schemes costs: the shared lazy extent is paid for once, unless all are eager."""
    shared = 0.0 if eager.all() else costs.lazy_shared
    return float(np.where(eager, costs.eager, costs.lazy_scan).sum() + shared)


def select_schemes(costs: SchemeCosts) -> Selection:
    """Return the cheapest choice of eager and lazy coalescing: exact, in time linear in the number of queries.

    The paper states it as a 0-1 integer program (Theorem 1) whose objective leaves the shared lazy extent out. Each
    query then chooses for itself, and there is nothing to program. The shared extent couples them in one way only: it
    is saved if no query is lazy. So the best is the cheaper of each query's own choice and of all eager. Give
    ``lazy_shared=0`` for the paper's objective as printed: of its ten choices one, case 1 of Table 6, needs that.

    A query for which both cost the same is lazy.

    Examples
    --------
    The first query alone would be lazy, but then the lazy extent would be kept for it:

    >>> costs = SchemeCosts(np.array([3.0, 1.0]), np.array([2.0, 2.0]), lazy_shared=1.5)
    >>> chosen = select_schemes(costs)
    >>> chosen.eager.tolist(), chosen.cost
    ([True, True], 4.0)
    """
    own_choice = costs.eager < costs.lazy_scan
    all_eager = np.ones(len(own_choice), dtype=np.bool_)
    cost, cost_all_eager = cost_of(costs, own_choice), cost_of(costs, all_eager)
    if cost_all_eager < cost:
        return Selection(all_eager, cost_all_eager)
    return Selection(own_choice, cost)
