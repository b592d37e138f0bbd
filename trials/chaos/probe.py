"""A probe: one pair, posted until it is acknowledged, and the wait for its match at ``GET /v1/matches``."""

import time
from itertools import count

import httpx2

from deploy.host.machine import wait_until
from deploy.local.system import System
from services.common.clock import system_clock_us
from trials.chaos.gateway import Item
from trials.chaos.ledger import Ledger
from trials.chaos.load import PROBED, STEADY

GIVEN_UP_AFTER_S = 180.0
_TIMEOUT_S = 3.0
_EVERY_S = 0.2
_numbers = count(1)


class Probe:
    """Asks how long the line needs until it works, from now on."""

    def __init__(self, system: System, ledger: Ledger) -> None:
        self._system = system
        self._ledger = ledger

    def seconds_until_matched(self) -> float | None:
        """Return how long it takes until a pair that is posted now is a match; None: longer than anybody waits."""
        begun_s, name = time.monotonic(), f"probe {next(_numbers)}"
        at_us = system_clock_us()
        pair = [{"sensor": f"{PROBED}-{each}", "detected_at": at_us, "id": name} for each in "ab"]
        came = wait_until(lambda: self._is_posted(pair), GIVEN_UP_AFTER_S, _EVERY_S) and wait_until(
            lambda: self._is_matched(name), GIVEN_UP_AFTER_S, _EVERY_S
        )
        return time.monotonic() - begun_s if came else None

    def _is_posted(self, pair: list[Item]) -> bool:
        try:
            answer = self._system.ingest.post("/v1/detections", json=pair, timeout=_TIMEOUT_S)
        except httpx2.HTTPError:
            return False
        if answer.status_code == httpx2.codes.ACCEPTED:
            for item in pair:
                self._ledger.acknowledge(item)
        return answer.status_code == httpx2.codes.ACCEPTED

    def _is_matched(self, name: str) -> bool:
        asked = {"query": STEADY, "area": PROBED, "limit": "20"}
        try:
            answer = self._system.alerting.get("/v1/matches", params=asked, timeout=_TIMEOUT_S)
            matches = answer.raise_for_status().json()["items"]
        except httpx2.HTTPError:
            return False
        return any(member["id"] == name for match in matches for member in match["members"])
