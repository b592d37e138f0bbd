"""DemoThread: shows the demo on the line of this process, over its address as any client does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import httpx2

from services.common.program.asgi_server import AsgiServer
from services.demo.harbour import BANG, microphones, play
from services.demo.programme import OF_NOW, DemoError, addresses, applied_query, bang_sentence, new_bangs, show_1987
from services.line.settings import LineSettings

WAIT_S = 120.0
LOOK_EVERY_S = 0.05
HTTP_TIMEOUT_S = 30.0


class DemoThread(threading.Thread):
    """Prints what is found until `stop`; where it cannot go on, it says why and ends the server."""

    afresh = "another --folder starts afresh"
    logs = "the log says why"

    def __init__(self, settings: LineSettings, server: AsgiServer) -> None:
        super().__init__(name="demo", daemon=True)
        self._url, self._server, self._stopped = settings.url, server, threading.Event()
        self.ingest = self.alerting = httpx2.Client(base_url=settings.url, timeout=HTTP_TIMEOUT_S)

    def run(self) -> None:
        """Show what was in 1987, then what is now."""
        harbour = threading.Thread(target=play, args=(self.ingest, microphones(), self._stopped), daemon=True)
        try:
            applied_query(self, BANG)
            start_us = time.time_ns() // 1_000
            harbour.start()  # the first bang takes its time, so it begins before the rest
            print()
            show_1987(self)
            print("\n".join(addresses(self._url, self._url)))
            print(f"\n{OF_NOW}\nCtrl-C ends it.\n", flush=True)
            for bang in new_bangs(self, start_us):
                print(bang_sentence(bang), flush=True)
        except (DemoError, httpx2.HTTPError) as error:
            self._fail(error)

    def wait(self, is_so: Callable[[], bool]) -> str | None:
        """Return None as soon as ``is_so()`` holds; else that it took too long."""
        until_s = time.monotonic() + WAIT_S
        while not is_so():
            if time.monotonic() > until_s:
                return f"had {WAIT_S:.0f} s"
            self._stopped.wait(LOOK_EVERY_S)
        return None

    def stop(self) -> None:
        """Post and print nothing more."""
        self._stopped.set()

    def _fail(self, error: Exception) -> None:
        if not self._server.should_exit:
            sys.stderr.write(f"coincide serve: {error}\n")
            self._server.status, self._server.should_exit = 1, True
