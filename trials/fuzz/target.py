"""A target: a place where bytes come in from outside, what must hold there for any bytes, and some that are right."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

MOST_BYTES = 65_536


@dataclass(frozen=True)
class Target:
    """`take` does with bytes what the running system does, and raises an exception where the law is broken."""

    name: str
    law: str
    take: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]


def file_name(target: str) -> str:
    """Return the name of a target as that of a file begins."""
    return target.replace("/", "-").replace(" ", "-")


#: What targets hold open from one input to the next, such as folders; a test closes it at its end.
held = ExitStack()


@cache
def own_folder() -> Path:
    """Return a folder for files that a target reads."""
    return Path(held.enter_context(TemporaryDirectory(prefix="coincide-fuzz-")))


class BrokenLaw(AssertionError):  # noqa: N818 - what a target says of itself
    """What was taken without an exception, and yet is wrong."""


class Keyed(NamedTuple):
    """A record of Kafka: its key, and its value."""

    key: bytes | None
    value: bytes | None

    @property
    def line(self) -> bytes:
        """The record as the bytes that a fuzzer changes: the key, a line feed, the value."""
        return (self.key or b"") + (b"" if self.value is None else b"\n" + self.value)

    @classmethod
    def of(cls, line: bytes) -> "Keyed":
        """Return the record in some bytes; without a line feed it is a tombstone."""
        key, feed, value = line.partition(b"\n")
        return cls(key or None, value if feed else None)
