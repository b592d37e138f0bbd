"""Changes: how the answer of a streaming operator changed with one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from coincide.arrays.kinds import Int64Array

Rows = TypeVar("Rows")

ROWS_IN_TEXT = 3


@dataclass(frozen=True)
class Changes(Generic[Rows]):
    """How the answer of a streaming operator changed with one batch.

    Attributes
    ----------
    insert, retract : Pairs, Tuples or Runs
        What is new, and what no longer holds (a timing join never retracts).
    late, late_by_us : ndarray of int64, shape (l,)
        Rows of the batch that came too late, which the operator left out, and how far behind the last acceptable time.

    Examples
    --------
    >>> import numpy as np
    >>> from coincide.joins.answers import Pairs
    >>> new = Pairs(np.array([0]), np.array([3]), lambda: np.array([0.9]))
    >>> Changes(new, Pairs.none(), late=np.arange(5), late_by_us=np.full(5, 1_000_000))
    Changes(insert=Pairs(1: (0, 3)), retract=Pairs(0), late=rows(5: 0, 1, 2, ...))
    """

    insert: Rows
    retract: Rows
    late: Int64Array
    late_by_us: Int64Array

    def __repr__(self) -> str:
        late = summary("rows", str(len(self.late)), self.late[:ROWS_IN_TEXT].tolist(), len(self.late))
        return f"Changes(insert={self.insert!r}, retract={self.retract!r}, late={late})"


def summary(kind: str, count: str, first: Sequence[object], rows: int) -> str:
    """Write how many rows there are, and the first of them, in one line."""
    listed = [*map(repr, first), *(["..."] if len(first) < rows else [])]
    return f"{kind}({count}: {', '.join(listed)})" if first else f"{kind}({count})"
