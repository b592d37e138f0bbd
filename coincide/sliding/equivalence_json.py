"""Equivalence JSON: "equal", "any", "increasing", "decreasing", {"bounded": e} or {"quantised": step}."""

from __future__ import annotations

from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Quantised
from coincide.errors import CoalescingError, QueryError
from coincide.json_fields import as_float

PLAIN = {"equal": Equal(), "any": None, "increasing": Increasing(), "decreasing": Decreasing()}
ALLOWED = 'one of "equal", "any", "increasing", "decreasing", {"bounded": e}, {"quantised": step}'


def equivalence_from_json(path: str, obj: object) -> Equivalence | None:
    """Read an equivalence; "any" is None: any value goes on from any other.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> equivalence_from_json("equivalence", {"bounded": 0.5})
    Bounded(epsilon=0.5)
    """
    if isinstance(obj, str) and obj in PLAIN:
        return PLAIN[obj]
    if not isinstance(obj, dict) or obj.keys() not in ({"bounded"}, {"quantised"}):
        raise QueryError(path, f"is {obj!r}: {ALLOWED}")
    [(name, bound)] = obj.items()
    try:
        return Bounded(as_float(bound)) if name == "bounded" else Quantised(as_float(bound))
    except CoalescingError as error:
        raise QueryError(f"{path}.{name}", f"is {error.value!r}: {error.allowed}") from None


def equivalence_to_json(equivalence: Equivalence | None) -> object:
    """Write an equivalence as `equivalence_from_json` reads it.

    Examples
    --------
    >>> equivalence_to_json(Quantised(5.0)), equivalence_to_json(None)
    ({'quantised': 5.0}, 'any')
    """
    if isinstance(equivalence, Bounded):
        return {"bounded": equivalence.epsilon}
    if isinstance(equivalence, Quantised):
        return {"quantised": equivalence.step}
    return next(name for name, plain in PLAIN.items() if plain == equivalence)
