"""Window answers: what a query over readings says of one window, as records of the episodes topic."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from msgspec import Struct, json

from spark_jobs.attributes import Scalar
from spark_jobs.records import OutputRecord


class AnsweredWindow(Struct, frozen=True):
    """The window [start, end)."""

    start_us: int
    end_us: int


class WindowAnswer(Struct, frozen=True, kw_only=True):
    """One answer of one window: final, and never given again.

    `start_us` and `end_us` are of a run, or of what two have in common, cut to the window; `count` readings hold in it.
    Of a join, `group` has the names "a.sensor" and "b.sensor" and `value` is {"a": .., "b": ..}. `received_at_us` is
    when ingest had the newest reading in it. There is no probability: at `latest_us` a reading is certainly so.
    """

    v: int = 1
    id: str
    query: str
    query_version: int
    area: str
    group: Mapping[str, Scalar]
    revision: int = 0
    start_us: int
    end_us: int
    count: int
    best_probability: None = None
    open: bool = False
    final: bool = True
    received_at_us: int
    members: Sequence[object] = ()
    members_truncated: bool = False
    window: AnsweredWindow
    value: Scalar | Mapping[str, Scalar]

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area."""
        return OutputRecord(self.area.encode(), json.encode(self))


def answer_id(query: str, area: str, group: Mapping[str, Scalar], window_end_us: int, start_us: int) -> str:
    """Return "e-" and 32 hex digits: the first 16 bytes of SHA-256 over the compact UTF-8 JSON of the arguments.

    Examples
    --------
    >>> answer_id("hot", "bay", {"sensor": "t1"}, 3_600_000_000, 0)
    'e-4add198ad3de945a3aced657fc9c577f'
    """
    content = json.encode([query, area, group, window_end_us, start_us])
    return "e-" + hashlib.sha256(content).hexdigest()[:32]
