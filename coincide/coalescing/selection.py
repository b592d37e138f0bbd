"""Selection: which distinct coalescing queries to coalesce eagerly, and which to leave to one lazy extent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays import BoolArray
from coincide.coalescing.scheme_costs import SchemeCosts


@dataclass(frozen=True)
class Selection:
    """A scheme for each query, and what all of them cost.

    Attributes
    ----------
    eager : ndarray of bool, shape (n,)
        Whether each query is coalesced eagerly; the others share one lazy extent.
    cost : float
    """

    eager: BoolArray
    cost: float


def cost_of(costs: SchemeCosts, eager: BoolArray) -> float:
    """Return what a choice of schemes costs: the shared lazy extent is paid for once, unless all are eager.

    Examples
    --------
    >>> costs = SchemeCosts(np.array([3.0, 1.0]), np.array([2.0, 2.0]), lazy_shared=1.5)
    >>> cost_of(costs, np.array([False, True])), cost_of(costs, np.array([True, True]))
    (4.5, 4.0)
    """
    shared = 0.0 if eager.all() else costs.lazy_shared
    return float(np.where(eager, costs.eager, costs.lazy_scan).sum() + shared)


def select_schemes(costs: SchemeCosts) -> Selection:
    """Return the cheapest choice of eager and lazy coalescing: exact, in time linear in the number of queries.

    The paper states it as a 0-1 integer program (Theorem 1) whose objective leaves the shared lazy extent out. Each
    query then chooses for itself, and there is nothing to program. The shared extent couples them in one way only: it
    is saved if no query is lazy. So the best is the cheaper of each query's own choice and of all eager. Give
    ``lazy_shared=0`` for the paper's objective as printed.

    Parameters
    ----------
    costs : SchemeCosts

    Returns
    -------
    Selection
        Lazy where both cost the same.

    References
    ----------
    Al-Kateb, Kunta and Lee: Temporal Coalescing on Window Extents over Data Streams (2010), section 6.2.

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
