"""Unit costs: what one operation on a window extent costs, and what is kept in one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_number
from coincide.errors import CostError


def refuse_unless_costs(costs: Any, what: str, above_0: Collection[str] = ()) -> None:
    """Refuse a dataclass that has a field which is no finite number, below 0, or 0 where it must be above."""
    for field in fields(costs):
        cost, bound = getattr(costs, field.name), "above 0" if field.name in above_0 else "at least 0"
        if not is_number(cost) or cost < 0 or (cost == 0 and field.name in above_0):
            raise CostError(field.name, cost, f"{what}, {bound}")


@dataclass(frozen=True)
class UnitCosts:
    """What one operation costs, in any one unit of time, and what is stored, in any one unit of memory.

    Parameters
    ----------
    insert, delete : float
        Insert a tuple into a lazy extent, delete the oldest one.
    insert_run, delete_run, detach : float
        Insert a tuple into an eager extent as a run, delete the oldest run, take the first timestamp off its vector.
    merge, merge_late : float
        A tuple is merged into a run in ``merge + merge_late * oop * cp``: late ones are searched for in the extent and
        in a vector that is longer the more coalesces.
    split : float
        A late tuple splits a run in ``split * oop / cp``: the array behind it moves, the shorter the more coalesces.
    read, read_run, read_timestamp : float
        Read a tuple of a lazy extent, a run of an eager one, one further timestamp of a run's vector (0 where a scan
        reads the ends only).
    coalesce : float
        Coalesce a tuple with the previous one during a scan.
    timestamp_size, run_size, tuple_size : float
        A timestamp in a run's vector (the paper's m), a run (r eager), a tuple stored lazily (r lazy).

    Notes
    -----
    All are finite and at least 0; `insert_run`, `read` and `tuple_size`, by which others are divided, are above 0.

    Source: Table 4 of Al-Kateb, Kunta and Lee: Temporal Coalescing on Window Extents over Data Streams (2010). It has
    one C_insert, C_delete and C_read for both schemes; the last, for an eager extent, "increases linearly with the
    coalescing probability".
    """

    insert: float
    delete: float
    insert_run: float
    delete_run: float
    detach: float
    merge: float
    merge_late: float
    split: float
    read: float
    read_run: float
    read_timestamp: float
    coalesce: float
    timestamp_size: float
    run_size: float
    tuple_size: float

    def __post_init__(self) -> None:
        refuse_unless_costs(self, "a finite number", above_0=("insert_run", "read", "tuple_size"))

    def merging(self, cp: FloatArray, oop: FloatArray) -> FloatArray:
        """Return C_merge at the probabilities given."""
        return self.merge + self.merge_late * oop * cp

    def splitting(self, cp: FloatArray, oop: FloatArray) -> FloatArray:
        """Return C_split at the probabilities given: infinite where something is late and nothing coalesces."""
        late = self.split * oop
        never = np.where(late > 0, np.inf, 0.0)
        return np.divide(late, cp, out=never, where=cp > 0)


PAPER = UnitCosts(
    insert=1.915,
    delete=0.106,
    insert_run=1.915,
    delete_run=0.106,
    detach=0.671,
    merge=0.173,
    merge_late=23.772,
    split=1.864,
    read=51.175,
    read_run=51.175,
    read_timestamp=51.175 * 0.558,  # it reads by size
    coalesce=6.094,
    timestamp_size=0.469 * 0.558,
    run_size=0.469,
    tuple_size=1.0,
)
"""The profile "paper": unit costs, and sizes in tuples, with which the paper's Tables 5 and 6 come out.

The paper prints no unit costs. These were fitted to its ten choices, and others would do as well. So it proves nothing
that the tables come out, and no machine was measured. Case 1 of Table 6 comes out with ``lazy_shared=0`` alone, that is
if nobody pays for the extent that lazy queries share. To choose for queries that run, take `measure_costs`.
"""
