"""A page of somebody else: a web site of another origin, a real browser that opens it, and what its script could do."""

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

LOADED_WITHIN_S = 60.0
#: Each attempt's status, or `blocked` where the browser gave the page no answer; then the site is told.
SCRIPT = """
const attempts = %s;
const attempt = ([url, options]) => fetch(url, options).then(answer => answer.status || answer.type, () => "blocked");
(async () => {
  const results = [];
  for (const each of attempts) results.push(await attempt(each));
  await fetch("/told", {method: "POST", body: JSON.stringify(results)});
})();
"""


class ForeignSite(ThreadingHTTPServer):
    """Shows one page with a script; hands everything else on to `behind`, as if its name were bound anew to that."""

    def __init__(self, address: tuple[str, int], attempts: list[tuple[str, Mapping[str, Any]]], behind: str) -> None:
        super().__init__(address, _Page)
        self.page = (
            f"<!doctype html><link rel=icon href='data:,'><script>{SCRIPT % json.dumps(attempts)}</script>".encode()
        )
        self.behind = behind
        self.told: list[Any] = []
        self.is_told = threading.Event()


class _Page(BaseHTTPRequestHandler):
    server: ForeignSite

    def do_GET(self) -> None:
        if self.path == "/":
            self._answer(200, self.server.page, "text/html")
        else:
            self._hand_on()

    def do_POST(self) -> None:
        if self.path != "/told":
            self._hand_on()
            return
        self.server.told = json.loads(self._body())
        self._answer(204, b"", "text/plain")
        self.server.is_told.set()

    def do_PUT(self) -> None:
        self._hand_on()

    def do_DELETE(self) -> None:
        self._hand_on()

    def _hand_on(self) -> None:
        """Send the request on as the browser wrote it, its Host included."""
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        answer = httpx2.request(
            self.command, self.server.behind + self.path, headers=headers, content=self._body(), timeout=10
        )
        self._answer(answer.status_code, answer.content, answer.headers.get("content-type", "text/plain"))

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", "0")))

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def _served(site: ForeignSite) -> Iterator[None]:
    threading.Thread(target=site.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        site.shutdown()
        site.server_close()


def results_of_page(
    browser: str, name: str, attempts: list[tuple[str, Mapping[str, Any]]], behind: str, port: int = 0
) -> list[Any]:
    """Open a page of ``http://name:port`` in the browser and return what became of each of its attempts."""
    site = ForeignSite(("127.0.0.2", port), attempts, behind)
    with _served(site), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        url = f"http://{name}:{site.server_address[1]}/"
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={profile}", f"--host-resolver-rules=MAP {name} 127.0.0.2", "--no-proxy-server"]
        with (Path(profile) / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "--remote-debugging-port=0", url], stdout=log, stderr=log, start_new_session=True
            )
        try:
            assert site.is_told.wait(LOADED_WITHIN_S), (Path(profile) / "log").read_text(errors="replace")[-2000:]
        finally:
            process.terminate()
            process.wait(20)
    return site.told
