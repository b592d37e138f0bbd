"""Verdicts: what became of each item of a POST, and the documented reasons for a refusal."""

import json
import math
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct

SHOWN_CHARACTERS = 100
INT64 = range(-(2**63), 2**63)


class Reason(StrEnum):
    """Reason codes of refused detections; with `retryable` the same one can be accepted later, unchanged."""

    meaning: str
    retryable: bool

    def __new__(cls, code: str, meaning: str, retryable: bool = False) -> Self:
        """Make a code with its meaning."""
        reason = str.__new__(cls, code)
        reason._value_ = code
        reason.meaning = meaning
        reason.retryable = retryable
        return reason

    MALFORMED_JSON = "malformed_json", "the body (NDJSON: this line) is not JSON, not UTF-8, or nested absurdly deep"
    NOT_AN_OBJECT = "not_an_object", "the item is JSON, but no object"
    DUPLICATE_KEY = "duplicate_key", "an object names the same key twice"
    MISSING_FIELD = "missing_field", "a required field is absent, or the stream where the sensor has several"
    UNKNOWN_FIELD = "unknown_field", "a field that is not in the contract; most often a misspelling"
    WRONG_TYPE = "wrong_type", '"12" in quotes, true or 1.0 where a whole number is due, null for absent, and the like'
    WRONG_LENGTH = "wrong_length", "an empty text, or one that is too long"
    BAD_TEXT = "bad_text", "half a surrogate pair or a control character"
    NOT_FINITE = "not_finite", "NaN, Infinity, or a number no double can hold"
    OUT_OF_RANGE = "out_of_range", "an integer outside 64 bits"
    UNKNOWN_SENSOR = (
        "unknown_sensor",
        "not registered (yet), or in no area that the key may post for: a retry can help once it is",
        True,
    )
    NOT_PERMITTED = "not_permitted", "the key that was shown may post for no sensor of this id"
    UNKNOWN_STREAM = "unknown_stream", "a stream that is not declared (yet)", True
    WRONG_STREAM = "wrong_stream", "a declared stream that this sensor has no template for (yet)", True
    BAD_TIME = "bad_time", "a text that is not an RFC 3339 time with its offset"
    LOOKS_LIKE_SECONDS = "looks_like_seconds", "a number that, as microseconds, lies before 1980"
    LOOKS_LIKE_NANOSECONDS = "looks_like_nanoseconds", "a number that, as microseconds, lies after the year 9999"
    BEFORE_1980 = "before_1980", "a text that lies before 1980"
    IN_THE_FUTURE = "in_the_future", "further ahead of this clock than max_future_s: a retry can help", True
    ATTRIBUTES_TOO_LONG = "attributes_too_long", "more than 1 KiB as compact JSON"
    TOO_DEEP = "too_deep", "attributes nested deeper than allowed"
    BAD_UNCERTAINTY = "bad_uncertainty", "none of the three forms, or not a distribution"
    BAD_PLACE = "bad_place", "no place of either kind, or not of the kind of the other places of its area"
    TEMPLATE_TOO_LONG = "template_too_long", "longer than the stream's longest_template_s, or too many buckets"


class Refused(Exception):  # noqa: N818 - a verdict, not a mishap
    """One detection is refused; says which field, its value and what would have been allowed."""

    def __init__(self, reason: Reason, field: str | None, value: Any, allowed: str) -> None:
        super().__init__(reason, field, allowed)
        self.reason = reason
        self.field = None if field is None else clean_text(field, SHOWN_CHARACTERS)  # it may be any key of the item
        self.value = shown(value)
        self.allowed = allowed

    @property
    def detail(self) -> str:
        """One sentence for a person."""
        subject = f"{self.field} {json.dumps(self.value)}" if self.field else "the item"
        return f"{subject} is refused ({self.reason}): {self.allowed}"


def shown(value: Any) -> str | int | float | bool | None:
    """Return `value` as a short scalar that any JSON reader can take: never NaN, a huge integer or half a surrogate."""
    if value is None or isinstance(value, bool) or (isinstance(value, int) and value in INT64):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return clean_text(value if isinstance(value, str) else render(value), SHOWN_CHARACTERS)


def render(value: Any) -> str:
    """Return JSON-like text of anything that the lenient reader can produce."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def clean_text(text: str, characters: int) -> str:
    """Return the start of `text`, with half surrogate pairs spelled out."""
    cut = text if len(text) <= characters else text[: characters - 1] + "…"
    return cut.encode("utf-8", "backslashreplace").decode("utf-8")


class Verdict(Struct, omit_defaults=True, gc=False):
    """What became of the item at position `index`; absent members do not apply.

    An accepted or unacknowledged detection has its `id`; a refused one the code, the field that it is about, its value
    (shortened), what would have been allowed, and the same as one sentence.
    """

    index: Annotated[int, Meta(description="position of the item in the POST, from 0")]
    status: Literal["accepted", "refused", "unacknowledged"]
    id: Annotated[str | None, Meta(description="the detection's id, given or made from its content")] = None
    reason: Annotated[
        str | None,
        Meta(
            description="; ".join(f"{reason.value}: {reason.meaning}" for reason in Reason),
            extra_json_schema={"enum": [reason.value for reason in Reason]},
        ),
    ] = None
    field: str | None = None
    value: Annotated[str | int | float | bool | None, Meta(description="the refused value, shortened")] = None
    allowed: str | None = None
    detail: Annotated[str | None, Meta(description="the refusal as one sentence")] = None
    retryable: Annotated[bool | None, Meta(description="whether sending the same item again can help")] = None


class Outcome(Struct, omit_defaults=True):
    """What became of a POST; as JSON, the answer to one of which every accepted item is acknowledged."""

    accepted: int
    refused: int
    received_at_us: int
    detections: list[Verdict]
    unacknowledged: int = 0
