"""Within: one edge of a query: how near two roles must be in time, and how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coincide.errors import WindowError
from coincide.window import Window

EDGE_FIELDS = ("between", "window_s", "lo_s", "hi_s", "threshold")


class QueryError(ValueError):
    """A query that cannot be used.

    Attributes
    ----------
    field : str
        Path of the field, such as ``within[0].threshold``.
    message : str
        What is wrong with it and what is allowed.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message

    def __reduce__(self) -> tuple[type[QueryError], tuple[str, str]]:
        return type(self), (self.field, self.message)


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


def is_number(value: object) -> bool:
    """Whether `value` is an int or float, finite, of any sane size; a bool is none."""
    return not isinstance(value, bool) and isinstance(value, int | float) and -1e300 < value < 1e300


def refuse_unless_probability(field: str, value: object) -> None:
    """Refuse what is no number above 0 and at most 1."""
    if not is_number(value) or not 0 < value <= 1:  # type: ignore[operator]
        raise QueryError(field, f"is {value!r}: above 0 and at most 1")


def as_float(value: Any) -> Any:
    """Return a number as a float, and what is none as it is, to be refused later."""
    return float(value) if is_number(value) else value


def object_fields(field: str, obj: object) -> Mapping[str, Any]:
    """Return the fields of a JSON object; anything else is refused."""
    if not isinstance(obj, Mapping) or not all(isinstance(name, str) for name in obj):
        raise QueryError(field, "is no JSON object")
    return obj


def refuse_unknown(fields: Mapping[str, Any], known: Sequence[str], inside: str = "") -> None:
    """Refuse a field that is not among `known`; `inside` is what its path begins with."""
    for name in fields:
        if name not in known:
            raise QueryError(inside + name, f"is unknown: one of {', '.join(known)}")


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
