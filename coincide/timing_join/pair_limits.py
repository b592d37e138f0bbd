"""PairLimits: how many template pairs a streaming join works out beforehand, and how many it remembers."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.errors import CoincideError
from coincide.offset_cache import MOST_PAIRS

TABLE_PAIRS = 65_536  # 0.3 s to compute


@dataclass(frozen=True)
class PairLimits:
    """Bounds of one join's satisfaction offsets.

    Parameters
    ----------
    table : int
        While the templates of the buffered events make at most so many pairs, a table holds all of them.
    cached : int
        Beyond that (every event may bring its own template) pairs are judged when they meet, and so many are
        remembered.

    Raises
    ------
    CoincideError
        A bound is not a whole number of at least 0.
    """

    table: int = TABLE_PAIRS
    cached: int = MOST_PAIRS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise CoincideError(name, value, "a whole number of pairs, at least 0")


USUAL_LIMITS = PairLimits()
