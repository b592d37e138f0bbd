"""Dead letters of fusion: what could not be used, and why."""

import msgspec
from msgspec import Raw, Struct, json

from services.common.content_ids import content_id
from spark_jobs.records.kafka_records import OutputRecord

LONGEST_RECORD_TEXT = 2048  # characters of a record that is no JSON object


class Refusal(Struct, frozen=True, kw_only=True):
    """One unusable record or row, as it goes out on the dead-letter topic; what is not known is null."""

    v: int = 1
    dead_id: str = ""  # of the content alone, so that writing a letter again is harmless
    source: str = "fusion"
    reason: str
    detail: str
    received_at_us: int | None = None
    area: str | None = None
    stream: str | None = None
    sensor: str | None = None
    id: str | None = None
    late_by_us: int | None = None
    record: Raw | str | None = None  # the JSON object, or the beginning of its text if it is none

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area ("" if unknown)."""
        stamped = msgspec.structs.replace(self, dead_id=content_id("d", self))
        return OutputRecord((self.area or "").encode(), json.encode(stamped))


def as_record(value: bytes | None) -> Raw | str | None:
    """Return `value` itself if it is a JSON object of moderate size, else the beginning of its text."""
    if value is None:
        return None
    if len(value) <= LONGEST_RECORD_TEXT:
        try:
            json.decode(value, type=dict[str, object])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            pass
        else:
            return Raw(value)
    return value[:LONGEST_RECORD_TEXT].decode("utf-8", "replace")
