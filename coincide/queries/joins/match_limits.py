"""MatchLimits: how many matches one query may give before it is suspended."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from coincide.errors import QueryError
from coincide.json_fields import given_fields

MOST_ALLOWED = 1_000_000


@dataclass(frozen=True)
class MatchLimits:
    """Limits of one query, in place of the system's own; None leaves that in force.

    Parameters
    ----------
    max_matches_per_detection : int, optional
        Most matches that one detection may complete.
    max_candidates_per_detection : int, optional
        Most candidates that one detection may complete, for queries of more than two roles: tuples of pairwise
        compatible members, or the sets that a search with `at_least` looks at, before joint probabilities are judged.
    max_matches_per_s : int, optional
        Most matches in one area within one second of received time.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> MatchLimits.from_json({"max_matches_per_s": 50}).to_json()
    {'max_matches_per_s': 50}
    """

    max_matches_per_detection: int | None = None
    max_candidates_per_detection: int | None = None
    max_matches_per_s: int | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():  # `asdict` copies, and fails on what is nested deep
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (is_whole and 1 <= value <= MOST_ALLOWED):
                raise QueryError(f"limits.{name}", f"is {value!r}: a whole number from 1 to {MOST_ALLOWED}")

    @classmethod
    def from_json(cls, obj: object) -> MatchLimits:
        """Read limits; a QueryError names the field and what is allowed."""
        return cls(**given_fields("limits", obj, [field.name for field in fields(cls)]))

    def to_json(self) -> dict[str, int]:
        """Return the limits that are given."""
        return {name: value for name, value in asdict(self).items() if value is not None}
