"""What some sensors report, once a second each, until they are told to be silent; what is refused is posted again."""

import random
import threading
from collections import deque
from contextlib import suppress
from typing import Any, Self

import httpx2

from deploy.host.machine import LocalError
from deploy.local.system import System
from services.common.clock import system_clock_us

AREA, STREAM, SENSORS = "drill", "noise", ("drill-1", "drill-2", "drill-3")
QUERY = "drill"
EVERY_S = 1.0
SIGMA_S = 0.1
EXPECT_EVERY_S = 10.0
MOST_AT_ONCE = 500
ANY_VERSION = {"if-match": "*"}


def declared(system: System) -> None:
    """Register the sensors, and a query that they match all the time."""
    sensor = {"area": AREA, "streams": {STREAM: {"normal": {"sigma_s": SIGMA_S}}}, "expect_every_s": EXPECT_EVERY_S}
    for name in SENSORS:
        _taken(system.ingest.put(f"/v1/sensors/{name}", json=sensor))
    put_query(system, QUERY)


def put_query(system: System, id_: str, **more: Any) -> None:
    """Put a query for which any two of the sensors match, and never what they hear a second later."""
    within = [{"between": ["a", "b"], "window_s": 0.4, "threshold": 0.3}]
    document = {"from": {"a": STREAM, "b": STREAM}, "within": within, **more}
    is_new = system.alerting.get(f"/v1/queries/{id_}").status_code == httpx2.codes.NOT_FOUND
    _taken(system.alerting.put(f"/v1/queries/{id_}", json=document, headers={} if is_new else ANY_VERSION))


def _taken(answer: httpx2.Response) -> None:
    if answer.is_error:
        raise LocalError(f"{answer.request.url} answered {answer.status_code}: {answer.text}")


class Gateways(threading.Thread):
    """Posts until the block ends."""

    def __init__(self, system: System) -> None:
        super().__init__(name="gateways", daemon=True)
        self._ingest = system.layout.url("ingest")
        self._ended = threading.Event()
        self._waiting: deque[dict[str, Any]] = deque(maxlen=10_000)
        self._dice = random.Random(7)
        self.silent: set[str] = set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Post what has been heard, and what was not taken before."""
        while not self._ended.wait(EVERY_S):
            now_us = system_clock_us()
            heard = [each for each in SENSORS if each not in self.silent]
            for each in heard:
                error_us = round(self._dice.gauss(0.0, SIGMA_S) * 1e6)
                self._waiting.append({"sensor": each, "stream": STREAM, "detected_at": now_us - error_us})
            with suppress(httpx2.HTTPError):
                self._post()

    def _post(self) -> None:
        some = list(self._waiting)[:MOST_AT_ONCE]
        answer = httpx2.post(f"{self._ingest}/v1/detections", json=some, timeout=10.0, trust_env=False)
        if answer.status_code == httpx2.codes.ACCEPTED:
            for _ in some:
                self._waiting.popleft()
