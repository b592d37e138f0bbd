"""What a query asks of each of its windows: the longest run of each group, lasting runs, or pairs of similar ones."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.errors import QueryError
from coincide.json_fields import as_float, given_fields, is_number
from coincide.sliding.query_fields import duration_us, seconds_of


@dataclass(frozen=True)
class Longest:
    """The longest run of each group in the window, the first of equally long ones (the paper's Example 2)."""

    def to_json(self) -> dict[str, object]:
        """Return the field of the query that says so."""
        return {"longest": True}


@dataclass(frozen=True)
class Lasting:
    """Every run that lasts at least so long inside the window (Example 4)."""

    lasting_us: int

    def to_json(self) -> dict[str, object]:
        """Return the field of the query that says so."""
        return {"lasting_s": seconds_of(self.lasting_us)}


@dataclass(frozen=True)
class Similar:
    """Runs of two groups, their values at most `within` apart, that hold together so long in the window (Example 1)."""

    within: float
    lasting_us: int

    def to_json(self) -> dict[str, object]:
        """Return the field of the query that says so."""
        return {"join": {"within": self.within, "lasting_s": seconds_of(self.lasting_us)}}


Asked = Longest | Lasting | Similar

ASKED = ("longest", "lasting_s", "join")


def asked_from_json(fields: dict[str, object]) -> Asked:
    """Read which of the three a query asks for, from its fields.

    Raises
    ------
    QueryError
        None or several are given, or one cannot be used.

    Examples
    --------
    >>> asked_from_json({"lasting_s": 7200})
    Lasting(lasting_us=7200000000)
    """
    given = [name for name in ASKED if name in fields]
    if len(given) != 1:
        raise QueryError((given or ASKED)[0], f"give exactly one of {', '.join(ASKED)}")
    if "lasting_s" in fields:
        return Lasting(duration_us("lasting_s", fields["lasting_s"]))
    if "join" in fields:
        return _similar(fields["join"])
    if fields["longest"] is not True:
        raise QueryError("longest", f"is {fields['longest']!r}: true, or leave it out")
    return Longest()


def _similar(obj: object) -> Similar:
    join = given_fields("join", obj, ("within", "lasting_s"), ("lasting_s",))
    within = as_float(join.get("within", 0.0))
    if not is_number(within) or within < 0:
        raise QueryError("join.within", f"is {within!r}: a finite number, at least 0")
    return Similar(within, duration_us("join.lasting_s", join["lasting_s"]))
