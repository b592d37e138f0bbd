"""A line above as a script: it answers each POST as a test says, and then takes all."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Items = list[dict[str, Any]]
Answer = tuple[int, dict[str, str], Any]


class LineAbove:
    """What was posted, and taken; `answers` are given first, one a POST."""

    def __init__(self) -> None:
        self.url = ""
        self.posts: list[Items] = []
        self.taken: Items = []
        self.keys: list[str | None] = []
        self.answers: list[Callable[[Items], Answer]] = []

    def answer(self, items: Items, key: str | None) -> Answer:
        self.posts.append(items)
        self.keys.append(key)
        if self.answers:
            return self.answers.pop(0)(items)
        self.taken += items
        return accepted(items)

    @property
    def ids(self) -> list[str]:
        return [each["id"] for each in self.taken]


def accepted(items: Items) -> Answer:
    return 202, {}, {"detections": [{"index": n, "status": "accepted"} for n in range(len(items))]}


def answering(status: int, **headers: str) -> Callable[[Items], Answer]:
    """Return what answers so, with no word of any detection."""
    return lambda _items: (status, {name.replace("_", "-"): each for name, each in headers.items()}, {})


@contextmanager
def line_above() -> Iterator[LineAbove]:
    above = LineAbove()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            items = [json.loads(line) for line in body.splitlines()]
            status, headers, document = above.answer(items, self.headers["Authorization"])
            content = json.dumps(document).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    above.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield above
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
