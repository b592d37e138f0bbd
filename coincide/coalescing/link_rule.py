"""LinkRule: which neighbours belong together, and how far apart they may lie."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from coincide.arrays import BoolArray, PositionArray
from coincide.coalescing.equivalences import Equal, Equivalence
from coincide.stable_order import narrow

NARROW = 1 << 16


@dataclass(frozen=True)
class LinkRule:
    """Values of all rows, and the equivalence that neighbours keep; without values all of a code belong together.

    Examples
    --------
    >>> import numpy as np
    >>> rule = LinkRule(np.array([81, 81, 79]))
    >>> rule.links(last=np.array([0, 1, 2]), first=np.array([0, 1, 2])).tolist()
    [True, False]
    """

    values: npt.NDArray[Any] | None = None
    equivalence: Equivalence = field(default_factory=Equal)
    gap_us: int = 0

    @classmethod
    def of(cls, values: npt.NDArray[Any] | None, equivalence: Equivalence, gap_us: int = 0) -> LinkRule:
        """Return the rule; whole numbers that only have to be equal are compared in the smallest type for them."""
        if values is None or values.dtype.kind != "i" or not isinstance(equivalence, Equal) or len(values) == 0:
            return cls(values, equivalence, gap_us)
        least = int(values.min())
        range_ = int(values.max()) - least
        return cls(narrow(values - least, range_ + 1) if range_ < NARROW else values, equivalence, gap_us)

    def links(self, last: PositionArray, first: PositionArray) -> BoolArray | None:
        """Whether each span but the first goes on from the one before; spans as their last and first rows."""
        if self.values is None:
            return None
        before = self.values.take(last)
        after = before if first is last else self.values.take(first)
        return self.equivalence.link(before[:-1], after[1:])
