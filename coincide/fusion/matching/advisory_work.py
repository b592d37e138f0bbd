"""Advisory work: what a match record says beyond its members and its probability, and how much work that may take.

The unit is a bucket pair, as in `coincide.offsets.pair_work`. What a match gets depends on the log alone: on its own
members and on the matches that its newest detection, and that detection's frame, completed before it. So neither
batches nor restarts, neither other queries nor a replay change it.
"""

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.templates.template_columns import TemplatePairs

# of when a match occurred, measured for pairs of 4 to 64 buckets
OCCURRED_BESIDES = 200.0
OCCURRED_EACH_BUCKET_PAIR = 1.5
OCCURRED_ON_A_CLOCK = 25_000.0  # two grids, the finer one of 512 cells, and a convolution with the clock's error
OFFSET_OF_A_CLOCK = 25_000.0  # each clock has a second convolution, and a cut of its own through the grids


@dataclass(frozen=True)
class AdvisoryBudget:
    """Most bucket pairs for the matches that one new detection completes for a query, and for those of one frame.

    It is held once for `occurred`, once for the chance rate and once for how slow clocks were.
    """

    detection: float = 50_000.0  # about 1 ms
    frame: float = 500_000.0

    def affords(self, work: FloatArray, kind: IndexArray, detection: Int64Array, frame: Int64Array) -> BoolArray:
        """Whether each match may have its work done, shape (n,); what takes no work is always done.

        Each match names its newest detection and that one's frame. The matches of a detection stand together, and so
        do those of a frame. The first ones are served: once they have used the budget up, the rest get nothing. One
        `kind` of work is the same work: a detection and a frame pay for it once.
        """
        if len(work) == 1:
            return np.array([self.affords_one(float(work[0]))])
        affordable = _is_within(self.detection, work, kind, detection)
        at = np.flatnonzero(affordable)
        affordable[at] = _is_within(self.frame, work[at], kind[at], frame[at])
        affordable |= work == 0
        return affordable

    def affords_one(self, work: float) -> bool:
        """Whether the only match of a frame has its work done."""
        return work == 0 or work <= min(self.detection, self.frame)


def _is_within(most: float, work: FloatArray, kind: IndexArray, group: Int64Array) -> BoolArray:
    if (sums_so_far(work, group) <= most).all():
        return np.ones(len(work), np.bool_)
    first, nth = first_of_each(group, kind)
    paid = np.zeros(len(work))
    paid[first] = work[first]
    within: BoolArray = (sums_so_far(paid, group) <= most)[first][nth]
    return within


def sums_so_far(work: FloatArray, group: Int64Array) -> FloatArray:
    """Sum up to and including each one within its group, whose members stand together; whole numbers, so exact."""
    total = np.cumsum(work)
    is_first = np.ones(len(group), np.bool_)
    is_first[1:] = group[1:] != group[:-1]
    before = (total - work)[is_first]
    sums: FloatArray = total - before[np.cumsum(is_first) - 1]
    return sums


def occurred_work(pairs: TemplatePairs, shared: BoolArray) -> FloatArray:
    """Work of telling when each match of two occurred, shape (n,); `shared` where both are on one clock."""
    u_buckets, v_buckets = (
        np.array([len(template.mass) for template in side], dtype=np.float64) for side in (pairs.us, pairs.vs)
    )
    in_all = u_buckets[pairs.u_index] * v_buckets[pairs.v_index]
    return np.where(shared, OCCURRED_ON_A_CLOCK, np.rint(OCCURRED_BESIDES + OCCURRED_EACH_BUCKET_PAIR * in_all))


def first_of_each(*columns: FloatArray | Int64Array | IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the first position of each distinct row, and which of these each row is."""
    _, first, nth = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    return first, nth.ravel()
