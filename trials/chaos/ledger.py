"""The ledger: every detection that ingest has acknowledged with 202, and what it refused for a reason."""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Name = tuple[str, str]  # sensor, id: what a detection is known by


@dataclass
class Ledger:
    """Gateways write into it at the same time; it is read once they have stopped."""

    acknowledged: dict[Name, int] = field(default_factory=dict)  # when each was detected, in microseconds
    refused: Counter[str] = field(default_factory=Counter)  # detections that were given up, by ingest's reason
    posts: Counter[str] = field(default_factory=Counter)  # by what they were answered: a status, or "no answer"
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def acknowledge(self, item: Mapping[str, Any]) -> None:
        """Note a detection that was accepted; the same one again changes nothing."""
        with self._lock:
            self.acknowledged[item["sensor"], item["id"]] = item["detected_at"]

    def refuse(self, reason: str) -> None:
        """Note a detection that its gateway gives up, because ingest said why it cannot be taken."""
        with self._lock:
            self.refused[reason] += 1

    def answer(self, what: str) -> None:
        """Note what one POST was answered."""
        with self._lock:
            self.posts[what] += 1
