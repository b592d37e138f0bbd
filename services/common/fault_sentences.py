"""What msgspec and pydantic find wrong, as a person says it: which field, what it is, and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

LONGEST_VALUE = 80
NO_FORMS: Mapping[str, str] = MappingProxyType({})
_KINDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a JSON object",
    "array": "a list",
    "null": "null",
}
_PLACE = re.compile(r" - at (`key` in )?`\$\.?([^`]*)`$")
_EXPECTED = re.compile(r"Expected `([^`]+)`(?: of length (>=|<=)? ?(\d+)| (>=|<=|>|<) (\S+)| matching regex (.*))?")
_GOT = re.compile(r", got (?:`(\w+)`|(\d+))$")
_FIELD = re.compile(r"Object (?:contains unknown|missing required) field `(.*)`$")
_BOUNDS = {">=": "at least ", "<=": "at most ", ">": "above ", "<": "below ", None: "just "}


class Fault(NamedTuple):
    """What is wrong with a document: a sentence, and apart what it says: field, value and allowed, as far as known."""

    sentence: str
    members: dict[str, Any]


def fault_of(error: msgspec.MsgspecError, forms: Mapping[str, str] = NO_FORMS) -> str:
    """Return msgspec's complaint as a sentence; what is no JSON stays as msgspec says it.

    `forms` says by its pattern what a text of a form is.

    Examples
    --------
    >>> class Place(msgspec.Struct, forbid_unknown_fields=True):
    ...     lat: float
    >>> for document in ({"lat": "north"}, {}, {"lat": 1, "lon": 2}, []):
    ...     try:
    ...         msgspec.convert(document, Place)
    ...     except msgspec.ValidationError as error:
    ...         print(fault_of(error))
    lat is a text: a number is allowed
    lat is missing
    lon: there is no such field
    this is a list: a JSON object is allowed
    """
    return fault_in(error, forms).sentence


def fault_in(error: msgspec.MsgspecError, forms: Mapping[str, str] = NO_FORMS, fields: Sequence[str] = ()) -> Fault:
    """Return the same with what it says apart; `fields` are those of the document."""
    complaint = str(error)
    at = _PLACE.search(complaint)
    place, said = ("", complaint) if at is None else (at[2], complaint[: at.start()])
    if named := _FIELD.match(said):
        field = f"{place}.{named[1]}" if place else named[1]
        return Fault(f"{field} is missing", {"field": field}) if "missing" in said else _unknown(field, fields)
    expected = _EXPECTED.match(said)
    if expected is None:
        return Fault(said, {})
    subject = f"a name in {place or 'this'}" if at is not None and at[1] else _subject(place)
    got = _GOT.search(said)
    is_what = "" if got is None else f" is {_KINDS.get(got[1], got[1])}" if got[1] else f" has {got[2]}"
    allowed = _allowed(expected, forms)
    members = {"field": place.removesuffix("[...]"), "allowed": allowed} if place else {"allowed": allowed}
    return Fault(f"{subject}{is_what}: {allowed} is allowed", members)


def _unknown(field: str, fields: Sequence[str]) -> Fault:
    """Return what is wrong with a field that there is not; `fields` are those beside it, where they are known."""
    names = ", ".join(fields)
    if not names or "." in field:
        return Fault(f"{field}: there is no such field", {"field": field})
    return Fault(f"{field}: there is no such field, but {names}", {"field": field, "allowed": names})


def _subject(place: str) -> str:
    if not place:
        return "this"
    return f"a value of {place.removesuffix('[...]')}" if place.endswith("[...]") else place


def _allowed(expected: re.Match[str], forms: Mapping[str, str]) -> str:
    kinds = [each for each in expected[1].split(" | ") if each != "null"] or ["null"]
    kind = " or ".join(_KINDS.get(each, each) for each in kinds)
    if expected[3] is not None:
        unit = "character" if kinds == ["str"] else "member"
        return f"{kind} of {_BOUNDS[expected[2]]}{expected[3]} {unit}{'' if expected[3] == '1' else 's'}"
    if expected[4] is not None:
        bound = expected[5].removesuffix(".0")
        return f"{kind} {'of ' if '=' in expected[4] else ''}{_BOUNDS[expected[4]]}{bound}"
    if expected[6] is None:
        return kind
    return next((said for pattern, said in forms.items() if expected[6] == repr(pattern)), f"{kind} of another form")


_OF_PYDANTIC = {
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "string_type": "a text",
    "string_too_short": "a text of at least {min_length} characters",
    "string_too_long": "a text of at most {max_length} characters",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "too_short": "at least {min_length} members",
    "too_long": "at most {max_length} members",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "path_type": "the path of a file",
}


def describe_errors(errors: Iterable[Mapping[str, Any]], *, shows_values: bool = True) -> str:
    """Return one sentence naming each bad field, its value and what is allowed; pydantic's ``errors()`` has them.

    Without `shows_values` it shows none: they may be secrets.
    """
    return "; ".join(fault.sentence for fault in faults_in(errors, shows_values=shows_values))


def faults_in(
    errors: Iterable[Mapping[str, Any]], *, shows_values: bool = True, fields: Sequence[str] = ()
) -> list[Fault]:
    """Return each with what it says apart; `fields` are those of the document."""
    return [_fault(each, shows_values, fields) for each in errors]


def _fault(item: Mapping[str, Any], shows_values: bool, fields: Sequence[str]) -> Fault:
    field = ".".join(map(str, item["loc"]))
    if item["type"] == "missing":
        return Fault(f"{field or 'the body'} is missing", {"field": field})
    if item["type"] == "extra_forbidden":
        return _unknown(field, fields)
    form = _OF_PYDANTIC.get(item["type"])
    allowed = item["msg"].removeprefix("Value error, ") if form is None else form.format(**_bounds_of(item))
    if not field:
        return Fault(allowed, {"allowed": allowed})
    if not shows_values:
        return Fault(f"{field}: {allowed}", {"field": field, "allowed": allowed})
    value = shortened(item.get("input"))
    return Fault(f"{field} is {value}: {allowed}", {"field": field, "value": value, "allowed": allowed})


def _bounds_of(item: Mapping[str, Any]) -> dict[str, Any]:
    bounds = item.get("ctx", {})
    return {name: f"{each:g}" if isinstance(each, float) else each for name, each in bounds.items()}


def shortened(value: object) -> str:
    """Return a value as Python writes it, of a long one the start."""
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
