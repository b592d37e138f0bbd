"""RoleFilter: which detections of its stream may play a role, by attributes, sensors and areas."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from coincide.arrays.numbers import as_number, is_number, written_number
from coincide.errors import QueryError
from coincide.json_fields import given_fields, object_fields
from coincide.queries.fields import checks
from coincide.sliding.value_limits import ValueLimits

LIMITS = ("above", "at_least", "below", "at_most")
TESTS = (*LIMITS, "is", "in")
FIELDS = ("stream", "where", "sensors", "areas")
MOST_NAMES = 100
MOST_ATTRIBUTES = 16
LONGEST_GLOB = 200

Scalar = str | int | float | bool
ReadAttribute = Callable[[str], Any]
"""Returns the value of an attribute, named as the query names it; None where there is none."""


@lru_cache(maxsize=4096)
def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression of a glob: ``*`` stands for any characters, ``?`` for one.

    What stands between two ``*`` is looked for once, at the first place where it fits: no later one can fit better. So
    a name of n characters takes at most n steps for each character of the glob, however many ``*`` it has.
    """
    first, *others = ("".join("." if each == "?" else re.escape(each) for each in part) for part in pattern.split("*"))
    if not others:
        return re.compile(first, re.DOTALL)
    *middle, last = others
    return re.compile(first + "".join(f"(?>.*?{part})" for part in middle if part) + f".*{last}", re.DOTALL)


def fits_any(name: str, globs: Sequence[str]) -> bool:
    """Whether a name fits one of the globs; every name does where there are none."""
    return not globs or any(glob(each).fullmatch(name) for each in globs)


@dataclass(frozen=True)
class AttributeTest:
    """What an attribute must be: a number within `limits`, or one of the values `among`."""

    limits: ValueLimits | None = None
    among: tuple[Scalar, ...] = ()

    def holds(self, value: Any) -> bool:
        """Whether a value passes; true and false are no numbers, and a text that writes a number counts as it."""
        if self.limits is not None:
            number = as_number(value)
            return number is not None and bool(self.limits.hold(number))
        return any(_are_equal(value, each) for each in self.among)

    def cannot_tell(self, value: Any) -> bool:
        """Whether a value is given and is no number, where the test has limits: nobody knows on which side it lies."""
        return self.limits is not None and value is not None and as_number(value) is None

    @classmethod
    def from_json(cls, path: str, obj: object) -> AttributeTest:
        """Read a test; a QueryError names the field and what is allowed."""
        fields = given_fields(path, obj, TESTS)
        chosen = [name for name in ("is", "in") if name in fields]
        if len(fields) == 0 or (chosen and len(fields) > 1):
            raise QueryError(path, f"is {dict(fields)!r}: limits ({', '.join(LIMITS)}), or is, or in")
        if chosen:
            return cls(among=_values(f"{path}.{chosen[0]}", fields[chosen[0]], is_list=chosen[0] == "in"))
        for pair in (LIMITS[:2], LIMITS[2:]):
            if all(name in fields for name in pair):
                raise QueryError(path, f"has {pair[0]} and {pair[1]}: one of them")
        for name, value in fields.items():
            if not is_number(value):
                raise QueryError(f"{path}.{name}", f"is {value!r}: a number")
        limits = ValueLimits(**{name: float(value) for name, value in fields.items()})
        if not limits.range[0] <= limits.range[1]:
            raise QueryError(path, f"is {dict(fields)!r}: limits that some number is within")
        return cls(limits)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object."""
        if self.limits is not None:
            return {name: value for name in LIMITS if (value := getattr(self.limits, name)) is not None}
        return {"is": self.among[0]} if len(self.among) == 1 else {"in": list(self.among)}


@dataclass(frozen=True)
class RoleFilter:
    """What a detection must say to play a role; without any field every detection of the stream may.

    Examples
    --------
    >>> loud = RoleFilter.from_json("from.m", {"stream": "gunshot", "where": {"attributes.db": {"above": 100}},
    ...     "sensors": ["mic-*"]})
    >>> loud.admits("mic-1", "harbour", {"attributes.db": 112.5}.get), loud.admits("pole", "harbour", {}.get)
    (True, False)
    >>> loud.to_json()
    {'where': {'attributes.db': {'above': 100.0}}, 'sensors': ['mic-*']}
    """

    where: tuple[tuple[str, AttributeTest], ...] = ()
    sensors: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()

    def admits(self, sensor: str, area: str, read: ReadAttribute) -> bool:
        """Whether a detection may play the role."""
        return self.admits_names(sensor, area) and self.admits_attributes(read)

    def admits_names(self, sensor: str, area: str) -> bool:
        """Whether the detections of a sensor may, as far as names go."""
        return fits_any(sensor, self.sensors) and fits_any(area, self.areas)

    def admits_attributes(self, read: ReadAttribute) -> bool:
        """Whether a detection may, as far as attributes go."""
        return all(test.holds(read(name)) for name, test in self.where)

    def no_numbers(self, read: ReadAttribute) -> list[str]:
        """Return the attributes of a detection that are given and no numbers, though they should lie within limits."""
        return [name for name, test in self.where if test.cannot_tell(read(name))]

    @classmethod
    def from_json(cls, path: str, obj: object) -> RoleFilter:
        """Read the filter of a role's object, beside its stream; a QueryError names the field and what is allowed."""
        fields = given_fields(path, obj, FIELDS, ("stream",))
        where = object_fields(f"{path}.where", fields.get("where", {}))
        if len(where) > MOST_ATTRIBUTES:
            raise QueryError(f"{path}.where", f"has {len(where)} attributes: at most {MOST_ATTRIBUTES}")
        for name in where:
            checks.refuse_unless_attribute(f"{path}.where", name)
        tests = tuple((name, AttributeTest.from_json(f"{path}.where.{name}", test)) for name, test in where.items())
        return cls(tests, globs(f"{path}.sensors", fields), globs(f"{path}.areas", fields))

    def to_json(self) -> dict[str, object]:
        """Return the fields of the JSON object that are given."""
        tests = {name: test.to_json() for name, test in self.where}
        written: dict[str, object] = {"where": tests} if tests else {}
        return written | {name: list(named) for name in ("sensors", "areas") if (named := getattr(self, name))}


EVERY = RoleFilter()


@dataclass(frozen=True)
class Source:
    """Where the members of a role come from: its stream, which of the stream's detections, and the query's areas."""

    stream: str
    filter: RoleFilter = EVERY
    areas: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every detection of the stream may play the role."""
        return self.filter == EVERY and not self.areas

    def admits_names(self, sensor: str, area: str) -> bool:
        """Whether the detections of a sensor may, as far as names go."""
        return fits_any(area, self.areas) and self.filter.admits_names(sensor, area)


_TRUTHS = {"true": True, "false": False}


def _are_equal(value: Any, wanted: Scalar) -> bool:
    """Whether a value is the wanted one; a text counts as the number, or as the true or false, that it writes."""
    if isinstance(value, str) and not isinstance(wanted, str):
        value = _TRUTHS.get(value.lower(), written_number(value))
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def stream_of(played: Any) -> Any:
    """Return the stream of what "from" says of a role: a name, or an object with one; what is neither as it is."""
    return played.get("stream", played) if isinstance(played, Mapping) else played


def filters_of(played: Mapping[str, Any]) -> tuple[RoleFilter, ...]:
    """Return the filters of all roles of "from", none if every role takes its whole stream."""
    filters = tuple(
        RoleFilter.from_json(f"from.{role}", given) if isinstance(given, Mapping) else EVERY
        for role, given in played.items()
    )
    return () if all(each == EVERY for each in filters) else filters


def globs(path: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the globs that the last name of the path lists among the fields, none if it does not stand there."""
    given = fields.get(path.rpartition(".")[2])
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MOST_NAMES:
        raise QueryError(path, f"is {given!r}: a list of 1 to {MOST_NAMES} names, which may have * and ?")
    for each in given:
        if not isinstance(each, str) or not 1 <= len(each) <= LONGEST_GLOB:
            raise QueryError(path, f"has {each!r}: a text of 1 to {LONGEST_GLOB} characters")
    return tuple(given)


def _values(path: str, given: Any, *, is_list: bool) -> tuple[Scalar, ...]:
    values = given if is_list else [given]
    if not isinstance(values, list | tuple) or not 1 <= len(values) <= MOST_NAMES:
        raise QueryError(path, f"is {given!r}: a list of 1 to {MOST_NAMES} values")
    for each in values:
        if not isinstance(each, Scalar) or (isinstance(each, float) and not math.isfinite(each)):
            raise QueryError(path, f"has {each!r}: a text, a number, true or false")
    return tuple(values)
