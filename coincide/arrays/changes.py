"""Changes: how the answer of a streaming operator changed with one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from coincide.arrays.kinds import Int64Array

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Changes(Generic[Answer]):
    """How the answer of a streaming operator changed with one frame.

    Attributes
    ----------
    insert, retract : Pairs or Tuples
        What is new, and what no longer holds (a timing join never retracts).
    late : ndarray of int64, shape (l,)
        Rows of the frame that came too late and were not joined.
    late_by_us : ndarray of int64, shape (l,)
        How far each lay behind the last acceptable time.
    """

    insert: Answer
    retract: Answer
    late: Int64Array
    late_by_us: Int64Array
