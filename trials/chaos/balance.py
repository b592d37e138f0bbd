"""The balance at the end: each detection is on the log, each match is there once, each late one is told."""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from deploy.host.machine import ROOT
from deploy.local.system import System
from services.common.settings import load_streams
from trials.chaos.ledger import Ledger, Name
from trials.chaos.load import STEADY, STREAM
from trials.chaos.oracle import Judged, expected_matches, judged

#: Fusion's quiet_s while the suite runs, and so the oracle's.
QUIET_S = 30
SETTLED_WITHIN_S = 120.0
_LOOKED_AGAIN_S = 5.0
SHOWN = 5


@dataclass(frozen=True)
class Balance:
    """Counts, and some names of each kind that is wrong."""

    acknowledged: int
    late: int
    refused: int
    matches: int
    lost_detections: list[str]
    missing: list[str]
    extra: list[str]
    twice: list[str]
    late_untold: list[str]
    told_late_wrongly: list[str]

    @property
    def is_even(self) -> bool:
        """Whether nothing is wrong."""
        return not any(value for value in asdict(self).values() if isinstance(value, list))

    def shortened(self) -> dict[str, Any]:
        """Return what a report shows: how many are wrong of each kind, and which, but not all of very many."""
        said = asdict(self)
        lists = {name: each for name, each in said.items() if isinstance(each, list)}
        return {**said, **{name: {"count": len(each), "such_as": each[:SHOWN]} for name, each in lists.items()}}


def balance(system: System, ledger: Ledger) -> Balance:
    """Compare all that was acknowledged with all that is served, until it is even or `SETTLED_WITHIN_S` are over."""
    delay_us = load_streams(ROOT / "config" / "streams.yaml")[STREAM].max_delay_us
    log = judged(system.layout.bootstrap, delay_us, QUIET_S * 1_000_000)
    expected = expected_matches(log.on_time).keys()
    deadline_s = time.monotonic() + SETTLED_WITHIN_S
    while True:
        found = compared(ledger, log, expected, served_ids(system), told_late(system))
        if found.is_even or time.monotonic() > deadline_s:
            return found
        time.sleep(_LOOKED_AGAIN_S)


def compared(ledger: Ledger, log: Judged, expected: Iterable[str], served: Iterable[str], told: set[Name]) -> Balance:
    """Compare match by match and detection by detection."""
    times, wanted = Counter(served), set(expected)
    on_time = {(row.sensor, row.id) for row in log.on_time}
    lost = (name for name, at_us in ledger.acknowledged.items() if log.logged.get(name) != at_us)
    return Balance(
        acknowledged=len(ledger.acknowledged),
        late=len(log.late - on_time),
        refused=ledger.refused.total(),
        matches=len(wanted),
        lost_detections=_named(lost),
        missing=sorted(wanted - times.keys()),
        extra=sorted(times.keys() - wanted),
        twice=sorted(each for each, count in times.items() if count > 1),
        late_untold=_named(log.late - told),
        told_late_wrongly=_named(told - log.late),
    )


def _named(names: Iterable[Name]) -> list[str]:
    return sorted(" ".join(name) for name in names)


def served_ids(system: System) -> list[str]:
    """Return the id of every match of the steady query that alerting has, as often as it lists it."""
    return [match["id"] for match in _listed(system, "/v1/matches", query=STEADY, superseded="any")]


def told_late(system: System) -> set[Name]:
    """Return the detections of which a dead letter says that they came too late."""
    return {(each["sensor"], each["id"]) for each in _listed(system, "/v1/dead-letters", reason="late")}


def _listed(system: System, path: str, **filters: str) -> Iterator[Any]:
    asked = {**filters, "format": "ndjson"}
    with system.alerting.stream("GET", path, params=asked, timeout=60.0) as answer:
        answer.raise_for_status()
        yield from map(json.loads, answer.iter_lines())
