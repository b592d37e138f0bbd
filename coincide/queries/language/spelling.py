"""How SQL spells names, texts, numbers and durations: each way back gives what was written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from coincide.errors import QueryTextError
from coincide.queries.fields.checks import attribute_name
from coincide.queries.language.grammar import KEYWORDS

At = tuple[int, int]
"""Line and column, both from 1."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MILLISECOND = Decimal("0.001")
UNITS: dict[str, Decimal] = {
    **dict.fromkeys(("us", "microsecond", "microseconds"), Decimal("0.000001")),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), _MILLISECOND),
    **dict.fromkeys(("s", "sec", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("min", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hour", "hours"), Decimal(3600)),
    **dict.fromkeys(("d", "day", "days"), Decimal(86400)),
}
"""Seconds of each unit of time; a number without a unit counts milliseconds, as PTJoin's do."""

COMPARISONS = {">": "above", ">=": "at_least", "<": "below", "<=": "at_most"}
_LIMITS = {limit: comparison for comparison, limit in COMPARISONS.items()}
_WRITTEN = ((3600, "HOUR", "h"), (60, "MINUTE", "min"), (1, "SECOND", "s"))


def number_in(text: str, at: At) -> int | float:
    """Return the number; one without a point or an exponent is whole."""
    try:
        number = float(text) if re.search(r"[.eE]", text) else int(text)
    except ValueError:  # Python reads so many digits only
        number = math.inf
    if isinstance(number, float) and not math.isfinite(number):
        raise QueryTextError(at, f"line {at[0]}, column {at[1]}", f"is {text[:60]!r}: a number below 1.8e308")
    return number


def seconds_in(number: str, unit: str | None, at: At) -> int | float:
    """Return a duration in seconds, rounded once; a whole number of them as such."""
    factor = _MILLISECOND if unit is None else UNITS.get(unit.lower())
    if factor is None:
        allowed = "us, ms, s, min, h or d, or their names such as MINUTE"
        raise QueryTextError(at, f"line {at[0]}, column {at[1]}", f"has the unit {unit!r}: {allowed}")
    given = number_in(number, at)
    if factor == 1:
        return given
    exact = Decimal(given if isinstance(given, int) else repr(given)) * factor
    return int(exact) if exact == exact.to_integral_value() and abs(exact) < 2**53 else float(exact)


def text_in(quoted: str) -> str:
    """Return what stands between single quotes; two of them stand for one."""
    return quoted[1:-1].replace("''", "'")


def name_in(word: str) -> str:
    """Return a name as it is, or what the JSON string in its place says."""
    return str(json.loads(word)) if word.startswith('"') else word


def name(named: str) -> str:
    """Write a name, as a JSON string where it is a keyword or has other characters than letters, digits and ``_``."""
    is_plain = _PLAIN.fullmatch(named) and named.upper() not in KEYWORDS
    return named if is_plain else json.dumps(named, ensure_ascii=False)


def attribute(path: str) -> str:
    """Write the name of an attribute without its "attributes."."""
    return name(attribute_name(path))


def text(said: str) -> str:
    """Write a text in single quotes."""
    return "'" + said.replace("'", "''") + "'"


def scalar(value: object) -> str:
    """Write a text, a number, true or false."""
    if isinstance(value, bool):
        return str(value).upper()
    return text(value) if isinstance(value, str) else repr(value)


def number(value: float) -> str:
    """Write a number so that reading it gives the same one; a whole one without its ".0"."""
    is_whole = abs(value) < 2**53 and value == int(value) and str(value) != "-0.0"
    return str(int(value)) if is_whole else repr(value)


def duration(seconds: float, *, in_words: bool = False) -> str:
    """Write a duration with its unit, the longest of which it has a whole number."""
    count, unit = in_units(seconds)
    return f"{count} {unit if in_words else next(short for _, word, short in _WRITTEN if word == unit)}"


def in_units(seconds: float) -> tuple[str, str]:
    """Return the number and the unit that a duration is written with."""
    if seconds != int(seconds):
        return number(seconds), "SECOND"
    length, unit, _ = next(each for each in _WRITTEN if int(seconds) % each[0] == 0 and (seconds or each[0] == 1))
    return str(int(seconds) // length), unit


def limits_text(column: str, test: Mapping[str, Any]) -> list[str]:
    """Return the conditions that a column keeps to some limits, or is one of some values."""
    if "is" in test:
        return [f"{column} = {scalar(test['is'])}"]
    if "in" in test:
        return [f"{column} IN ({', '.join(map(scalar, test['in']))})"]
    return [
        f"{column} {_LIMITS[limit]} {number(value)}{_until_text(_LIMITS[limit], test)}"
        for limit, value in test.items()
        if limit in _LIMITS
    ]


def _until_text(comparison: str, test: Mapping[str, Any]) -> str:
    """Return what ends a spell of values beyond a limit, if another value than the limit does."""
    opposite, end = ("<", "until_below") if comparison.startswith(">") else (">", "until_above")
    return f" UNTIL {opposite} {number(test[end])}" if end in test else ""
