"""Equations 1 and 3 to 6 of the coalescing paper as printed: each fails a test, with its correction beside it."""

from collections.abc import Sequence

from coincide.coalescing import UnitCosts


def eager_memory(costs: UnitCosts, cp: Sequence[float], w: int) -> float:
    """Equation 1."""
    m, r = costs.timestamp_size, costs.run_size
    total = 0.0
    for arriving, leaving in zip(cp, [0.0] * w + list(cp), strict=False):  # cp[i-w] is 0 while the window fills
        total += (arriving * m + (1 - arriving) * r) - (leaving * m + (1 - leaving) * r)
    return total


def eager_update(costs: UnitCosts, cp: Sequence[float], oop: Sequence[float], w: int) -> float:
    """Equation 3, `(1 - cp[i-w] C_delete)` and all; C_merge and C_split as in the profile "paper"."""
    total = 0.0
    for c, o, leaving in zip(cp, oop, [0.0] * w + list(cp), strict=False):
        merge = costs.merge + costs.merge_late * o * c
        split = costs.split * o / c if o else 0.0
        total += (1 - o) * (1 - c) * costs.insert_run + (1 - o) * c * merge
        total += o * (1 - c) * (costs.insert_run + split) + o * c * merge
        total += leaving * costs.detach + (1 - leaving * costs.delete_run)
    return total


def lazy_update(costs: UnitCosts, k: int, w: int) -> float:
    """Equation 4."""
    return costs.insert if k <= w else costs.insert + costs.delete


def eager_scan(costs: UnitCosts, memory: float) -> float:
    """Equation 5, of any memory."""
    return costs.read_run * memory / costs.run_size


def lazy_scan(costs: UnitCosts, cp: Sequence[float]) -> float:
    """Equation 6: of all that arrived."""
    return sum(each * (costs.coalesce + costs.read) + (1 - each) * costs.read for each in cp)
