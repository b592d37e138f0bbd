"""The load: gateways of several areas that post all the time, and the question whose answers are counted."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

from deploy.local.system import System
from services.ingest.registry.sensor_changes import MOST_AT_ONCE
from trials.chaos.gateway import MICROPHONES, PATIENCE_S, Gateway, microphone
from trials.chaos.ledger import Ledger

STREAM = "noise"
HALF_TEMPLATE_S = 0.1
WINDOW_S = 0.1
THRESHOLD = 0.3
#: It stays as it is through the whole run: its matches are compared with the oracle's.
STEADY = "steady"
QUERY: dict[str, Any] = {
    "from": {"a": STREAM, "b": STREAM},
    "within": [{"between": ["a", "b"], "window_s": WINDOW_S, "threshold": THRESHOLD}],
    "sensors": "different",
}
#: Its gateway's clock goes wrong; no other does.
WANDERING = "wandering"
#: Where probes are posted, and nothing else.
PROBED = "probed"
AREAS = 6


@dataclass
class Load:
    """The gateways of a run, and their ledger."""

    ledger: Ledger
    gateways: dict[str, Gateway]

    @classmethod
    def of(
        cls,
        url: str,
        random: Random,
        detections_hz: float,
        sensors: int = 0,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> "Load":
        """Return gateways for `AREAS` areas and one whose clock may wander; together they post so many a second.

        Each has three sensors, or more where there are to be so many in all. All of them post with
        ``headers``.
        """
        ledger, names = Ledger(), [WANDERING, *(f"yard-{number}" for number in range(AREAS))]
        events_hz = detections_hz / len(names) / 2.5  # two or three microphones hear an event
        groups = max(1, round(sensors / len(names) / len(MICROPHONES)))
        made = {
            name: Gateway(url, name, ledger, Random(random.random()), events_hz, groups, headers=headers)
            for name in names
        }
        return cls(ledger, made)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Post while the block runs; return when all that was heard is acknowledged."""
        threads = [threading.Thread(target=each.run, daemon=True) for each in self.gateways.values()]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            for gateway in self.gateways.values():
                gateway.ended.set()
            for thread in threads:
                thread.join(2 * PATIENCE_S)


def prepare(system: System, load: Load) -> None:
    """Register the sensors of all areas, and have no query but the steady one.

    Those that a new system begins with ask for the same stream. They would find ten times as many matches, which nobody
    compares with anything.
    """
    for each in system.alerting.get("/v1/queries").raise_for_status().json()["items"]:
        system.alerting.delete(f"/v1/queries/{each['id']}", headers={"If-Match": "*"}).raise_for_status()
    template = {"uniform": [-HALF_TEMPLATE_S, HALF_TEMPLATE_S]}
    groups = {PROBED: 1} | {area: gateway.groups for area, gateway in load.gateways.items()}
    sensors = [
        {"id": microphone(area, each, group), "area": area, "streams": {STREAM: "noisy"}}
        for area in groups
        for group in range(groups[area])
        for each in MICROPHONES
    ]
    for start in range(0, len(sensors), MOST_AT_ONCE):
        listed = {"templates": {"noisy": template}, "sensors": sensors[start : start + MOST_AT_ONCE]}
        verdicts = system.ingest.post("/v1/sensors", json=listed, timeout=60.0).raise_for_status().json()["items"]
        assert {each["status"] for each in verdicts} == {"created"}, verdicts[0]
    system.alerting.put(f"/v1/queries/{STEADY}", json=QUERY).raise_for_status()
