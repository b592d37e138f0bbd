"""The version of the saved state: what every piece of it begins with, and is refused by when it is another's."""

import re
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct, msgpack

FORMAT = 5  # raise it with every change of Header, Slot or what they hold

T = TypeVar("T")


class StateError(RuntimeError):
    """A header or slot that this version cannot read, or that does not belong together with the others."""


def decode_state(content: bytes, decoder: msgpack.Decoder[T], what: str) -> T:
    """Decode an array that begins with its format; StateError if that is another, or it is no such array."""
    try:
        written_in = msgpack.decode(msgpack.decode(content, type=list[Raw])[0])
        if written_in != FORMAT:
            raise StateError(f"{what} has format {written_in!r}: this version reads {FORMAT}")
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, IndexError) as error:
        raise StateError(f"{what} cannot be read: {error}") from None


def number_of(slot: bytes) -> int:
    """Return the number of a slot, which comes after the format; StateError if it is no slot of this format."""
    return decode_state(slot, _numbered_decoder, "a journal slot").number


class _Numbered(Struct, array_like=True, frozen=True):
    """What every slot begins with."""

    format: int
    number: int


_numbered_decoder = msgpack.Decoder(_Numbered)


def unusable_state(error: Exception) -> str | None:
    """Return what a `StateError` said, found in the text of Spark's report of a failed query; None if there is none."""
    said = re.search(rf"^.*\b{StateError.__name__}: (.*)$", str(error), re.MULTILINE)
    return said and said[1]
