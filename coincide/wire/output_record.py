"""A record as it is written: UTF-8 key and one JSON object."""

from typing import NamedTuple

from msgspec import Struct, json


class OutputRecord(NamedTuple):
    """One record to be written."""

    key: bytes
    value: bytes


def keyed(key: str, record: Struct) -> OutputRecord:
    """Return the record to write: its key, and its JSON."""
    return OutputRecord(key.encode(), json.encode(record))
