"""PairLimits: how much work on template pairs a streaming join does beforehand, and how many pairs it remembers."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.errors import CoincideError
from coincide.offset_cache import MOST_PAIRS

TABLE_WORK = 16_777_216  # bucket pairs (see pair_work): 0.3 s; 8 buckets, a long window: 47,000 template pairs


@dataclass(frozen=True)
class PairLimits:
    """Bounds of one join's satisfaction offsets.

    Parameters
    ----------
    table : int
        While all pairs of the buffered events' templates are worked out with at most so much work, a table holds them.
        The unit is a bucket pair, the term that two buckets add to a probability: about 20 ns. A template pair takes
        about 4 times the product of its numbers of buckets, in a window shorter than the templates 24 times.
    cached : int
        Beyond that (every event may bring its own template) pairs are judged when they meet, and so many are
        remembered.

    Raises
    ------
    CoincideError
        A bound is not a whole number of at least 0.
    """

    table: int = TABLE_WORK
    cached: int = MOST_PAIRS

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise CoincideError(name, value, "a whole number, at least 0")


USUAL_LIMITS = PairLimits()


def checked_pair_limits(limits: object) -> PairLimits:
    """Return `limits` if they are PairLimits, else raise CoincideError."""
    if not isinstance(limits, PairLimits):
        raise CoincideError("pair_limits", limits, "PairLimits, such as PairLimits(cached=10_000)")
    return limits
