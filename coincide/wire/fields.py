"""Fields of records: what a name may be, what an unreadable one raises, and how a letter shows it."""

from typing import Annotated

import msgspec
from msgspec import Meta, Raw

from coincide.arrays.instants import EARLIEST_TIME_US, LATEST_TIME_US

LONGEST_NAME = 200
Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]

#: A time in a record, from 1898 to 2112: what computes with it and what stores it cannot overflow.
Microseconds = Annotated[int, Meta(ge=EARLIEST_TIME_US, le=LATEST_TIME_US)]

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
NULL = Raw(b"null")
LONGEST_SHOWN = 80


class FrameError(ValueError):
    """A record of which no row can be used."""


def shown(value: Raw) -> str:
    """Return the beginning of a piece of JSON, for a letter."""
    content = bytes(value)
    text = content[:LONGEST_SHOWN].decode("utf-8", "replace")
    return text if len(content) <= LONGEST_SHOWN else f"{text}..."
