"""What whoever reads the episodes topic knows: the greatest revision of each id, and how far it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.records.kafka_records import Output

Record = dict[str, Any]

PHASES = {(True, False): 0, (False, False): 1, (False, True): 2}


def episodes(output: Output) -> list[Record]:
    return [json.loads(record.value) for record in output.episodes]


@dataclass
class Reader:
    """Reads records of episodes and refuses what should never be written."""

    known: dict[str, Record] = field(default_factory=dict)

    def read(self, output: Output) -> None:
        for record in episodes(output):
            before = self.known.get(record["id"])
            if before is None:
                assert not record.get("retracted"), "what nobody has heard of is taken back"
            else:
                assert rank(record) > rank(before), (before, record)
            self.known[record["id"]] = record

    @property
    def current(self) -> dict[str, Record]:
        return {id_: record for id_, record in self.known.items() if not record.get("retracted")}

    def content(self) -> dict[str, Record]:
        """Return the episodes there are, but for how far they are."""
        phases = ("v", "open", "final", "members_truncated")
        return {
            id_: {key: value for key, value in record.items() if key not in phases}
            for id_, record in self.current.items()
        }


def rank(record: Record) -> tuple[int, int]:
    return record["revision"], 0 if record.get("retracted") else PHASES[record["open"], record["final"]]
