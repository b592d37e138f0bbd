"""Fields of queries over readings, and equivalences as JSON; every refusal names the field by its whole path."""

from __future__ import annotations

from coincide.coalescing.equivalences import Bounded, Decreasing, Equal, Equivalence, Increasing, Quantised
from coincide.errors import CoalescingError, QueryError
from coincide.json_fields import as_float, is_number
from coincide.stream import LONGEST_DELAY_S


def duration_us(path: str, seconds: object) -> int:
    """Return a number of seconds in whole microseconds.

    Raises
    ------
    QueryError
        It is no number, less than a microsecond or more than 1e8 s.

    Examples
    --------
    >>> duration_us("window.slide_s", 0.25)
    250000
    """
    if not is_number(seconds) or not 1e-6 <= seconds <= LONGEST_DELAY_S:  # type: ignore[operator]
        raise QueryError(path, f"is {seconds!r}: a number of seconds from 1e-6 to {LONGEST_DELAY_S:g}")
    return round(seconds * 1e6)  # type: ignore[operator]


def seconds_of(duration: int) -> float | int:
    """Return microseconds as seconds; a whole number as such.

    Examples
    --------
    >>> seconds_of(3_600_000_000), seconds_of(250_000)
    (3600, 0.25)
    """
    return duration // 1_000_000 if duration % 1_000_000 == 0 else duration / 1e6


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
