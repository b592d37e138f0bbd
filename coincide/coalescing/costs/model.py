"""The cost model of eager and of lazy coalescing in a window of w tuples: Equations 1 to 6, corrected.

Source: Al-Kateb, Kunta and Lee: Temporal Coalescing on Window Extents over Data Streams (2010), section 6.1.

``cp[i]`` is the probability that tuple i coalesces with the one before it in its group, ``oop[i]`` that it arrives out
of order. Each function answers for every k, the number of tuples that have arrived: element k - 1 is the cost at k.
The oldest tuple of the extent begins a run, whatever its cp: nothing is there to coalesce with. So for one group in
order, with probabilities 0 and 1, runs and operations are counted exactly; with several groups in the mean.
A window of T seconds holds w = rate * T tuples. A CostError names a probability outside [0, 1] and a `w` below 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_whole, real_numbers
from coincide.coalescing.costs.units import UnitCosts
from coincide.errors import CostError


def runs_in_extent(cp: npt.ArrayLike, w: int) -> FloatArray:
    """Return how many runs the extent holds at each k."""
    runs: FloatArray = tuples_in_extent(np.size(cp), w) - links_in_extent(cp, w)
    return runs


def tuples_in_extent(n: int, w: int) -> FloatArray:
    """Return min(k, w) for k from 1 to n."""
    tuples: FloatArray = np.minimum(np.arange(1.0, n + 1), _window(w))
    return tuples


def links_in_extent(cp: npt.ArrayLike, w: int) -> FloatArray:
    """Return how many tuples of the extent are coalesced with the one before, at each k."""
    later = _probabilities("cp", cp).copy()
    later[:1] = 0
    reached = np.cumsum(later)
    oldest = np.maximum(np.arange(len(later)) - (_window(w) - 1), 0)
    return reached - reached[oldest]


def eager_memory(costs: UnitCosts, cp: npt.ArrayLike, w: int) -> FloatArray:
    """Return the memory of an eagerly coalesced extent at each k: Equation 1, corrected.

    It is r_eager for each run and m for each further timestamp.

    Printed, ``sum(m cp[i] + r (1 - cp[i]) - (m cp[i-w] + r (1 - cp[i-w])))`` with cp[i-w] = 0 before the window is
    full: there it takes a run off for each tuple, so that memory is never above 0. Nothing expires before. And the
    expiring tuple leaves a timestamp if the *next* one was coalesced with it, as the paper's text has it: cp[i-w+1].
    """
    return costs.run_size * runs_in_extent(cp, w) + costs.timestamp_size * links_in_extent(cp, w)


def lazy_memory(costs: UnitCosts, n: int, w: int) -> FloatArray:
    """Return the memory of a lazily coalesced extent for k from 1 to n: Equation 2, ``min(k, w) r_lazy``."""
    return costs.tuple_size * tuples_in_extent(n, w)


def eager_update(costs: UnitCosts, cp: npt.ArrayLike, oop: npt.ArrayLike, w: int) -> FloatArray:
    """Return the time of the first k updates with eager coalescing: Equation 3, corrected.

    Printed, the last term is ``(1 - cp[i-w] C_delete)`` where ``(1 - cp[i-w]) C_delete`` is meant, and with cp[i-w] = 0
    it charges a deletion for every tuple from the first on. Deletions begin after tuple w, and the oldest is detached
    if the next tuple was coalesced with it: cp[i-w+1].
    """
    cp, oop = _probabilities("cp", cp), _probabilities("oop", oop)
    if len(cp) != len(oop):
        raise CostError("oop", f"an array of {len(oop)} rows", f"{len(cp)} rows, as cp has")
    cp = np.concatenate([np.zeros(min(1, len(cp))), cp[1:]])  # the first coalesces with nothing
    late = oop * (1 - cp)  # also where splitting costs without end, unless nothing is late
    split = np.multiply(late, costs.splitting(cp, oop), out=np.zeros(len(cp)), where=late > 0)
    split[:1] = 0  # nothing is there to be split
    arrivals = (1 - cp) * costs.insert_run + cp * costs.merging(cp, oop) + split
    spent: FloatArray = np.cumsum(arrivals + _expiry(costs, cp, w))
    return spent


def lazy_update(costs: UnitCosts, n: int, w: int) -> FloatArray:
    """Return the time of the first k updates with lazy coalescing, for k from 1 to n: Equation 4, corrected.

    Printed it is the cost of the k-th update alone, ``C_insert`` or ``C_insert + C_delete``, which Equations 7 to 10
    would set beside Equation 3's sum of all k.
    """
    k = np.arange(1.0, n + 1)
    return costs.insert * k + costs.delete * (k - tuples_in_extent(n, w))


def eager_scan(costs: UnitCosts, cp: npt.ArrayLike, w: int) -> FloatArray:
    """Return the time to scan an eagerly coalesced extent at each k: Equation 5, corrected.

    Printed, ``C_read M_eager / r_eager`` counts a timestamp as m/r of a tuple. Here a run is read once, and its further
    timestamps cost what they cost to read: `read_timestamp` = m/r C_read is the printed form, and that of "paper".
    """
    return costs.read_run * runs_in_extent(cp, w) + costs.read_timestamp * links_in_extent(cp, w)


def lazy_scan(costs: UnitCosts, cp: npt.ArrayLike, w: int) -> FloatArray:
    """Return the time to scan a lazily coalesced extent at each k: Equation 6, corrected.

    Printed, the sum goes over all k tuples that ever arrived; the extent holds min(k, w).
    """
    cp = _probabilities("cp", cp)
    return costs.read * tuples_in_extent(len(cp), w) + costs.coalesce * links_in_extent(cp, w)


def _expiry(costs: UnitCosts, cp: FloatArray, w: int) -> FloatArray:
    """Return what each arrival's expiring tuple costs: with tuple i (from 0) goes i - w, which i - w + 1 follows."""
    expiring = np.zeros(len(cp))
    following = cp[1 : max(len(cp) - _window(w) + 1, 1)]
    expiring[w:] = following * costs.detach + (1 - following) * costs.delete_run
    return expiring


def _probabilities(field: str, values: npt.ArrayLike) -> FloatArray:
    array = real_numbers(field, values, "an array of probabilities, shape (n,)", CostError)
    if array.ndim != 1:
        raise CostError(field, f"an array of shape {array.shape}", "an array of probabilities, shape (n,)")
    if (beyond := array[~((array >= 0) & (array <= 1))]).size:
        raise CostError(field, float(beyond[0]), "a probability, from 0 to 1")
    return array


def _window(w: int) -> int:
    if not is_whole(w) or w < 1:
        raise CostError("w", w, "a whole number of tuples, at least 1")
    return w
