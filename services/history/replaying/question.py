"""Question: the query of a complete run, and with which thresholds each chunk is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from coincide.queries import Query
from services.history.replaying.match_curves import (
    MatchFigures,
    has_one_threshold,
    some_of,
    thresholds_from,
)
from services.history.replaying.pair_levels import PairLevels
from services.history.replaying.request import RunError

GRID_POINTS = 8  # thresholds of the curve of a query with `at_least`: each is a join of its own
GRID = f"at most {GRID_POINTS} thresholds, each a join of its own: with another threshold other sets are the largest"
ALONE = "the query's own threshold alone: with another one other sets are the largest (min_threshold asks for a few)"


@dataclass(frozen=True)
class Question:
    """What is asked of every chunk: the query, and with which thresholds its tuples are looked for.

    Tuples at the least threshold tell all points of the curve above it, except with `at_least`: with another
    threshold other sets are the largest, so each point is asked for.
    """

    query: Query
    thresholds: tuple[float, ...]

    @classmethod
    def of(cls, query: Query, min_threshold: float | None) -> Question:
        """Return what a request asks; RunError where its curve cannot begin where it should."""
        own = query.own_threshold
        least = min(own, min_threshold or own)
        if not has_one_threshold(query):
            if least < own:
                raise RunError(f"query {query.id} has no single threshold that a curve could vary: leave it out")
            return cls(query, (own,))
        if query.at_least is None or min_threshold is None:
            return cls(query, (least,))
        return cls(query, tuple(some_of(thresholds_from(least, own).tolist(), GRID_POINTS, own)))

    @property
    def asked(self) -> list[Query]:
        """The query with each threshold."""
        own = self.query.own_threshold
        return [self.query if each == own else self.query.with_threshold(each) for each in self.thresholds]

    @cached_property
    def levels(self) -> PairLevels | None:
        """What pairs reach, for the points of the curve; None for more than two roles, or windows by distance."""
        if len(self.query.roles) > 2 or self.query.needs_places:
            return None
        thresholds = thresholds_from(self.thresholds[0], self.query.own_threshold)
        return PairLevels(self.query.window, thresholds.tolist())

    @property
    def telling(self) -> int:
        """Which of the thresholds gives the query's own matches."""
        return 0 if self.query.at_least is None else self.thresholds.index(self.query.own_threshold)

    def curve(self, figures: Sequence[MatchFigures]) -> dict[str, Any]:
        """Return the histogram of P and the curve, given the figures of each threshold."""
        own = self.query.own_threshold
        told = {"own_threshold": own, "histogram": figures[self.telling].histogram()}
        if self.query.at_least is None:
            return {**told, "curve": figures[0].curve(thresholds_from(self.thresholds[0], own).tolist())}
        points = [figure.curve([each])[0] for figure, each in zip(figures, self.thresholds, strict=True)]
        return {**told, "curve": points, "curve_of": GRID if len(points) > 1 else ALONE}
