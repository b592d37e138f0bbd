"""Within: one edge of a query: how near two roles must be in time, and how sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coincide.errors import QueryError, WindowError
from coincide.json_fields import as_float, is_number, object_fields, refuse_unknown, refuse_unless_probability
from coincide.window import Window

EDGE_FIELDS = ("between", "window_s", "lo_s", "hi_s", "threshold")


@dataclass(frozen=True)
class Within:
    """An edge: P(X of `second` - X of `first` lies in `window`) >= `threshold`.

    Parameters
    ----------
    first, second : str
        Two different roles.
    window : Window
        Closed at both ends; a deadline or a delay is refused.
    threshold : float, optional
        Above 0, at most 1. None: the query's joint threshold alone decides.
    """

    first: str
    second: str
    window: Window
    threshold: float | None = None

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
        if self.window.is_symmetric:
            return {**between, "window_s": self.window.hi_s, **threshold}
        return {**between, "lo_s": self.window.lo_s, "hi_s": self.window.hi_s, **threshold}

    @classmethod
    def from_json(cls, obj: object) -> Within:
        """Read an edge; unknown fields are refused.

        Raises
        ------
        QueryError
            Names the field, relative to the edge, and what is allowed.
        """
        edge = object_fields("", obj)
        refuse_unknown(edge, EDGE_FIELDS)
        first, second = _between(edge.get("between"))
        return cls(first, second, _window(edge), _threshold(edge))


def _between(roles: object) -> tuple[str, str]:
    if not isinstance(roles, list) or len(roles) != 2 or not all(isinstance(role, str) for role in roles):
        raise QueryError("between", f"is {roles!r}: a list of two roles")
    return roles[0], roles[1]


def _window(edge: Mapping[str, Any]) -> Window:
    given = {name: edge[name] for name in ("window_s", "lo_s", "hi_s") if name in edge}
    if set(given) not in ({"window_s"}, {"lo_s", "hi_s"}):
        raise QueryError("window_s", "give either window_s or both lo_s and hi_s")
    for name, value in given.items():
        if not is_number(value):
            raise QueryError(name, f"is {value!r}: a finite number of seconds")
    try:
        return Window(**given)
    except WindowError as error:
        raise QueryError(error.field, f"is {error.value!r}: {error.allowed}") from None


def _threshold(edge: Mapping[str, Any]) -> float | None:
    if "threshold" not in edge:
        return None
    threshold: float = as_float(edge["threshold"])
    refuse_unless_probability("threshold", threshold)
    return threshold
