"""A record as a row of the file, with a checksum: SQLite has none, and reads a torn page as zeros."""

from typing import Any
from zlib import crc32

import msgspec

from services.common.log.records import RECORD_BYTES, Header

_encode_headers = msgspec.msgpack.Encoder().encode
_decode_headers = msgspec.msgpack.Decoder(tuple[Header, ...]).decode

#: The columns of a row that is read, in the order of `checked`.
COLUMNS = "record_offset, timestamp_ms, key, value, headers, checksum"


def row_of(
    offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: tuple[Header, ...]
) -> tuple[Any, ...]:
    """Return the row of a record, its columns as in `COLUMNS`."""
    packed = _encode_headers(headers) if headers else None
    return offset, timestamp_ms, key, value, packed, _checksum(offset, timestamp_ms, key, value, packed)


def size_of_row(row: tuple[Any, ...]) -> int:
    """Return the bytes that a row counts, as `tables.SIZE` does."""
    return RECORD_BYTES + sum(len(each or b"") for each in row[2:5])


def headers_in(row: tuple[Any, ...]) -> tuple[Header, ...] | None:
    """Return the headers of a row that was read; None where it is not what was written."""
    offset, timestamp_ms, key, value, packed, checksum = row
    try:
        if _checksum(offset, timestamp_ms, key, value, packed) != checksum:
            return None
        return () if packed is None else _decode_headers(packed)
    except (TypeError, msgspec.MsgspecError):
        return None


def _checksum(offset: int, timestamp_ms: int, *parts: bytes | None) -> int:
    """Return the checksum of all, which tells what is empty from what is not there."""
    checksum = crc32(b"%d %d" % (offset, timestamp_ms))
    for part in parts:
        checksum = crc32(b"-" if part is None else b"%d " % len(part), checksum)
        checksum = crc32(part or b"", checksum)
    return checksum
