"""From the bytes of a body to its items: one typed pass when all is well, a careful one when something is not."""

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from services.ingest.stamping import lenient_json
from services.ingest.stamping.posted import ALLOWED, PostedDetection, posted_place
from services.ingest.verdicts import Reason, Refused, clean_text


class Form(Enum):
    """How a body holds its items."""

    JSON = "one JSON object or an array of them"
    NDJSON = "one JSON object a line"


class Item(NamedTuple):
    """One item that could not be read: the reason, and as much of the item as was understood."""

    refused: Refused
    original: Any


_one = msgspec.json.Decoder(PostedDetection)
_many = msgspec.json.Decoder(list[PostedDetection])
_encode = msgspec.json.Encoder().encode
_FIELD = re.compile(r"\$\.(\w+)")
_NAMED = re.compile(r"`([^`]*)`")


def parse(body: bytes, form: Form) -> Iterator[PostedDetection | Item]:
    """Yield the items of `body` in order; `Refused` where it cannot be read (of NDJSON, such a line is an `Item`).

    An item that is read with care costs 25 us, and a body may hold a million: each is read when it is asked for.
    """
    items = _parse_clean(body, form)
    return iter(items) if items is not None else _parse_carefully(body, form)


def _parse_clean(body: bytes, form: Form) -> list[PostedDetection | Item] | None:
    """Return the items if every one is well-typed and no key is given twice; None when a closer look is due.

    Without backslashes every quote in the body delimits a text, and a key given twice loses at least one text:
    so the body and its re-encoded items hold equally many quotes exactly when no key was given twice.
    """
    if b"\\" in body:
        return None
    try:
        posted = _decode(body, form)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return posted if _encode(posted).count(b'"') == body.count(b'"') else None  # type: ignore[return-value]


def _decode(body: bytes, form: Form) -> list[PostedDetection]:
    if form is Form.NDJSON:
        return _one.decode_lines(body)
    if body.lstrip()[:1] == b"{":
        return [_one.decode(body)]
    return _many.decode(body)


def _parse_carefully(body: bytes, form: Form) -> Iterator[PostedDetection | Item]:
    if form is Form.NDJSON:
        yield from (_line(line) for line in body.split(b"\n") if line.strip())
        return
    value = lenient_json.read(_text(body))
    for original in value if isinstance(value, list) else [value]:
        yield _item(original)


def _line(line: bytes) -> PostedDetection | Item:
    try:
        return _item(lenient_json.read(_text(line)))
    except Refused as refused:
        return Item(refused, clean_text(line.decode("utf-8", "backslashreplace"), 2048))


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(Reason.MALFORMED_JSON, None, None, f"UTF-8; byte {error.start} is not") from None


def _item(original: Any) -> PostedDetection | Item:
    try:
        return read_item(original)
    except Refused as refused:
        return Item(refused, original.original if isinstance(original, lenient_json.Flaw) else original)


def read_item(original: Any) -> PostedDetection:
    """Return the typed detection of one JSON value; raises `Refused` naming the field, its value and what may be."""
    if not isinstance(original, dict | lenient_json.Flaw):
        raise Refused(Reason.NOT_AN_OBJECT, None, original, "a JSON object")
    try:
        lenient_json.refuse_flaws(original)
        return msgspec.convert(original, PostedDetection)
    except msgspec.ValidationError as error:
        raise _explained(str(error), original) from None
    except RecursionError:
        raise Refused(Reason.TOO_DEEP, None, None, "a detection of a few levels") from None


def _explained(complaint: str, original: Any) -> Refused:
    """Turn msgspec's sentence into a refusal; a test fails if msgspec changes its wording."""
    named = _FIELD.search(complaint) or _NAMED.search(complaint)
    field = named[1] if named else ""
    if field == "place":
        posted_place(original["place"])
    reason = _reason_of(complaint, field)
    allowed = ALLOWED.get(field, complaint)
    if reason is Reason.UNKNOWN_FIELD:
        allowed = f"only {', '.join(PostedDetection.__struct_fields__)}"
    return Refused(reason, field or None, original.get(field), allowed)


_OF_FIELDS = {"uncertainty": Reason.BAD_UNCERTAINTY, "place": Reason.BAD_PLACE}


def _reason_of(complaint: str, field: str) -> Reason:
    if field in _OF_FIELDS:
        return _OF_FIELDS[field]
    if "missing required field" in complaint:
        return Reason.MISSING_FIELD
    if "unknown field" in complaint:
        return Reason.UNKNOWN_FIELD
    return Reason.WRONG_LENGTH if "of length" in complaint else Reason.WRONG_TYPE
