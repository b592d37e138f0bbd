"""Load at a rate that does not wait for answers: POSTs fall due, whatever became of those before."""

from __future__ import annotations

import http.client
import queue
import threading
import time

from benchmarks import whole_line
from deploy.local.waiting import wait_until

DETECTIONS_PER_POST = 500
CONNECTIONS = 8


class Load:
    """Posts at a rate, open loop, over ``CONNECTIONS`` connections that are kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._due: queue.Queue[tuple[float, int, int] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._post_all, daemon=True) for _ in range(CONNECTIONS)]
        self._posts = 0
        self.posted = 0
        self.failure: str | None = None
        for thread in self._threads:
            thread.start()

    def run(self, rate: float, seconds: float) -> None:
        """Offer ``rate`` detections a second for ``seconds``; returns when all of it was offered."""
        start_s = time.monotonic()
        spacing_us = round(1e6 * whole_line.AREAS / rate)
        for i in range(int(seconds * rate / DETECTIONS_PER_POST)):
            due_s = start_s + i * DETECTIONS_PER_POST / rate
            time.sleep(max(0.0, due_s - time.monotonic()))
            self._due.put((due_s, self._posts % whole_line.AREAS, spacing_us))
            self._posts += 1

    def drain(self) -> None:
        """Return when every POST offered so far is answered."""
        if not wait_until(lambda: self.failure is not None or self.posted == self.offered, 120):
            raise SystemExit("POSTs are not answered within 120 s")
        if self.failure:
            raise SystemExit(self.failure)

    @property
    def offered(self) -> int:
        """Detections offered so far."""
        return self._posts * DETECTIONS_PER_POST

    def stop(self) -> None:
        for _ in self._threads:
            self._due.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _post_all(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while (due := self._due.get()) is not None:
            _, area, spacing_us = due
            now_us = time.time_ns() // 1000
            content = whole_line.body(area, DETECTIONS_PER_POST, now_us, spacing_us, now_us)
            connection.request("POST", "/v1/detections", content, {"content-type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
            with self._lock:
                self.posted += DETECTIONS_PER_POST
                if response.status != 202:
                    self.failure = f"a POST was answered {response.status}: {answer[:300]!r}"
        connection.close()
