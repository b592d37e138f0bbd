"""DeclaredByName: what people declare under a name, a view of a compacted topic of one partition."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

import msgspec

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.clocked import plain_from_json
from services.common.log.records import Record

log = logging.getLogger(__name__)


class DeclaredError(ValueError):
    """A record that declares nothing; the message says why."""


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """By which it is found; the key of its record."""


T = TypeVar("T", bound=Named)
R = TypeVar("R", bound=msgspec.Struct)


def declared_record(
    noun: str, key: bytes, value: bytes, decode: Callable[[bytes], R], parts: Callable[[R], tuple[str, msgspec.Raw]]
) -> tuple[R, Histogram]:
    """Return a record and the distribution in it; a `DeclaredError` says why it is none.

    `parts` are its name, which is its key, too, and its distribution as JSON.
    """
    try:
        record = decode(value)
        name, distribution = parts(record)
        histogram = plain_from_json(msgspec.json.decode(distribution))
    except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as fault:
        raise DeclaredError(f"not a {noun} record: {fault}") from fault
    if key != name.encode():
        raise DeclaredError(f"its key is {key[:200]!r}, its {noun} {name!r}: they must be equal")
    return record, histogram


class DeclaredByName(Mapping[str, T]):
    """Everything that is declared, by its name; one thread changes it, any may read it.

    `read` makes one of the key and the value of a record; a `DeclaredError` says why it is none.
    """

    def __init__(self, read: Callable[[bytes, bytes], T], *, follows: bool = False) -> None:
        self._read = read
        self._by_name: dict[str, T] = {}
        self.is_caught_up = not follows

    def __getitem__(self, name: str) -> T:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def replace(self, records: Iterable[Iterable[Record]]) -> None:
        """Begin anew with all records that there are."""
        by_name: dict[str, T] = {}
        for some in records:
            self._take(by_name, some)
        self._by_name, self.is_caught_up = by_name, True

    def apply(self, records: Iterable[Record]) -> None:
        """Take what came since."""
        by_name = dict(self._by_name)
        self._take(by_name, records)
        self._by_name = by_name

    def _take(self, by_name: dict[str, T], records: Iterable[Record]) -> None:
        for record in records:
            key = record.key or b""
            try:
                if record.value is None:
                    by_name.pop(key.decode(), None)
                else:
                    declared = self._read(key, record.value)
                    by_name[declared.name] = declared
            except (DeclaredError, UnicodeDecodeError) as error:
                fault = {"topic": record.topic, "offset": record.offset, "fault": str(error)}
                log.warning("skipped a record", extra=fault)
