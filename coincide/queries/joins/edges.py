"""Edges of a query: how near two roles must be in time and how sure, and which edges a form stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from coincide.constraints.window import Window
from coincide.errors import PlaceError, QueryError, WindowError
from coincide.json_fields import as_float, object_fields, refuse_unknown, refuse_unless_probability
from coincide.places import DistanceWindow, TravelTimes

BY_DISTANCE = ("speed_m_s", "travel_times", "slack_s", "up_to_m")
EDGE_FIELDS = ("between", "window_s", "lo_s", "hi_s", *BY_DISTANCE, "threshold")
USUAL_UP_TO_M = 100_000.0


@dataclass(frozen=True)
class Within:
    """An edge: P(X of `second` - X of `first` lies in `window`) >= `threshold`.

    With `by_distance` each two sensors have a window of their own, and `window` is the widest.

    Parameters
    ----------
    first, second : str
        Two different roles.
    window : Window
        Closed at both ends; a deadline or a delay is refused.
    threshold : float, optional
        Above 0, at most 1. None: the query's joint threshold alone decides.
    by_distance : DistanceWindow, optional
        With `up_to_m`.
    """

    first: str
    second: str
    window: Window
    threshold: float | None = None
    by_distance: DistanceWindow | None = None

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise QueryError("between", f"names {self.first!r} twice: name two different roles")
        if self.threshold is not None:
            refuse_unless_probability("threshold", self.threshold)
        if self.window.is_open:
            raise QueryError("window", f"is {self.window!r}: closed at both ends, or no event could ever be dropped")

    def to_json(self) -> dict[str, object]:
        """Return the JSON object; a symmetric window is written as `window_s`, no threshold as none."""
        between = {"between": [self.first, self.second]}
        threshold = {} if self.threshold is None else {"threshold": self.threshold}
        if self.by_distance is not None:
            return {**between, **_distance_json(self.by_distance), **threshold}
        if self.window.is_symmetric:
            return {**between, "window_s": self.window.hi_s, **threshold}
        return {**between, "lo_s": self.window.lo_s, "hi_s": self.window.hi_s, **threshold}

    @classmethod
    def from_json(cls, obj: object) -> Within:
        """Read an edge; a QueryError names the field, relative to the edge, and what is allowed."""
        edge = object_fields("", obj)
        refuse_unknown(edge, EDGE_FIELDS)
        first, second = _between(edge.get("between"))
        window = _window(edge)
        if isinstance(window, DistanceWindow):
            return cls(first, second, window.widest, _threshold(edge), window)
        return cls(first, second, window, _threshold(edge))


def _between(roles: object) -> tuple[str, str]:
    if not isinstance(roles, list) or len(roles) != 2 or not all(isinstance(role, str) for role in roles):
        raise QueryError("between", f"is {roles!r}: a list of two roles")
    return roles[0], roles[1]


def _window(edge: Mapping[str, Any]) -> Window | DistanceWindow:
    if any(name in edge for name in BY_DISTANCE):
        return _distance_window(edge)
    given = {name: edge[name] for name in ("window_s", "lo_s", "hi_s") if name in edge}
    if None in given.values() or set(given) not in ({"window_s"}, {"lo_s", "hi_s"}):
        raise QueryError("window_s", "give either window_s or both lo_s and hi_s")
    try:
        return Window(**given)
    except WindowError as error:
        raise QueryError(error.field, error.message) from None


def _distance_window(edge: Mapping[str, Any]) -> DistanceWindow:
    fixed = [name for name in ("window_s", "lo_s", "hi_s") if name in edge]
    if fixed:
        raise QueryError(fixed[0], "is given beside a window by distance: an edge has one window")
    if ("speed_m_s" in edge) == ("travel_times" in edge):
        raise QueryError("speed_m_s", "give either speed_m_s or travel_times, and slack_s if there is some")
    try:
        travel = as_float(edge["speed_m_s"]) if "speed_m_s" in edge else travel_times_of(edge["travel_times"])
        slack_s, up_to_m = as_float(edge.get("slack_s", 0.0)), as_float(edge.get("up_to_m", USUAL_UP_TO_M))
        return DistanceWindow(travel, slack_s, up_to_m)
    except (WindowError, PlaceError) as error:
        raise QueryError(error.field, error.message) from None


def travel_times_of(given: object) -> TravelTimes:
    """Read a table of travel times; a QueryError names its field."""
    allowed = "is no list of rows, each a distance in metres and a time in seconds, such as [[0, 0], [20000, 4]]"
    if not isinstance(given, list) or not all(isinstance(row, list) and len(row) == 2 for row in given):
        raise QueryError("travel_times", allowed)
    try:
        return TravelTimes([row[0] for row in given], [row[1] for row in given])
    except PlaceError as error:
        raise QueryError(f"travel_times.{error.field}", error.message) from None


def _distance_json(window: DistanceWindow) -> dict[str, object]:
    return {**travel_form(window.travel), "slack_s": window.slack_s, "up_to_m": window.up_to_m}


def travel_form(travel: TravelTimes) -> dict[str, object]:
    """Return how a query says travel times: a speed, or a table."""
    if len(travel.at_s) == 2 and travel.at_s[1] == 1.0:
        return {"speed_m_s": float(travel.distance_m[1])}
    return {"travel_times": np.column_stack((travel.distance_m, travel.at_s)).tolist()}


def _threshold(edge: Mapping[str, Any]) -> float | None:
    if "threshold" not in edge:
        return None
    threshold: float = as_float(edge["threshold"])
    refuse_unless_probability("threshold", threshold)
    return threshold


Form = Literal["path", "clique", "graph"]
FORMS: tuple[Form, ...] = ("path", "clique", "graph")


def edges_of(within: object, form: object, roles: Sequence[str]) -> tuple[Within, ...]:
    """Read the edges; one that names no roles stands for all edges of the form, `roles` in the order of "from"."""
    refuse_unless_form(form)
    if not isinstance(within, list) or not within:
        raise QueryError("within", f"is {within!r}: a list of one edge or more")
    if len(within) == 1 and isinstance(within[0], Mapping) and "between" not in within[0] and form is not None:
        return tuple(_edge(0, {**within[0], "between": list(pair)}) for pair in _pairs_of(form, roles))
    return tuple(_edge(number, edge) for number, edge in enumerate(within))


def refuse_unless_of_form(edges: Sequence[Within], form: object, roles: Sequence[str]) -> None:
    """Refuse a form that does not exist, and edges that do not make the form that the query says it has."""
    refuse_unless_form(form)
    if form is None or form == "graph":
        return
    wanted = {frozenset(pair) for pair in _pairs_of(form, roles)}
    given = {frozenset((edge.first, edge.second)) for edge in edges}
    between = "every two roles" if form == "clique" else "each role of from and the next"
    for difference, what in ((wanted - given, "lacks the edge"), (given - wanted, "has the edge")):
        if difference:
            pair = min(sorted(pair, key=list(roles).index) for pair in difference)
            raise QueryError("within", f"{what} {pair[0]!r} - {pair[1]!r}: a {form} has one between {between}")


def refuse_unless_form(form: object) -> None:
    """Refuse a form that does not exist; None is no form."""
    if form not in (None, *FORMS):
        raise QueryError("form", f"is {form!r}: one of {', '.join(FORMS)}")


def _pairs_of(form: object, roles: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs that a form has edges between; a graph is what its edges are."""
    if form == "path":
        return list(pairwise(roles))
    if form == "clique":
        return list(combinations(roles, 2))
    raise QueryError("within[0].between", "is missing: one edge may stand for all in a path or a clique only")


def _edge(number: int, edge: Any) -> Within:
    try:
        return Within.from_json(edge)
    except QueryError as error:
        raise QueryError(f"within[{number}].{error.field}".rstrip("."), error.message) from None
