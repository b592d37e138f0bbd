#!/usr/bin/env python3
"""A gateway: reads detections from standard input, one JSON object a line, and posts them to Coincide.

    my-sensor-program | python3 gateway.py http://127.0.0.1:8010 /var/spool/coincide

It needs Python 3.11 and nothing else; copy it and change it. Every line is on disk before it is posted and stays there
until Coincide has answered for it, so neither an outage nor a restart loses a line. Lines that Coincide refuses go to
`refused` in the spool folder, with the reason. It ends with standard input, once everything has been delivered.
The environment variable COINCIDE_KEY has the key, where one is needed.
"""

from __future__ import annotations

import argparse
import gzip
import http.client
import json
import logging
import os
import queue
import random
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_LINES = 1000  # Coincide takes 5,000 detections, or 2 MiB, in one POST
GATHER_S = 0.5  # how long a detection waits for others to be posted with
ANSWER_WITHIN_S = 30.0
LONGEST_PAUSE_S = 60.0

log = logging.getLogger("gateway")


@dataclass(frozen=True)
class Answer:
    """What Coincide said: the status, the seconds of Retry-After if any, and the JSON body."""

    status: int
    retry_after_s: float | None
    body: dict[str, Any]


class Spool:
    """Batches on disk, oldest first; a batch is a file of lines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def batches(self) -> list[Path]:
        """Return the files that wait, oldest first."""
        return sorted(self.folder.glob("*.ndjson"))

    def add(self, lines: Iterable[str]) -> None:
        """Write a batch behind all others; it is there as a whole or not at all."""
        waiting = self.batches()
        number = int(waiting[-1].name.split("-")[0]) + 1 if waiting else 0
        self._write(f"{number:012d}-0.ndjson", lines)

    def split(self, batch: Path) -> None:
        """Put two halves in the place of a batch."""
        lines = batch.read_text(encoding="utf-8").splitlines()
        half = len(lines) // 2
        self._write(f"{batch.stem}0.ndjson", lines[:half])
        self._write(f"{batch.stem}1.ndjson", lines[half:])
        batch.unlink()

    def refuse(self, line: str, reason: str) -> None:
        """Keep a line that Coincide does not take, for a person to look at."""
        log.warning("refused: %s: %s", reason, line)
        with (self.folder / "refused").open("a", encoding="utf-8") as refused:
            refused.write(f"{json.dumps({'reason': reason, 'line': line})}\n")

    def _write(self, name: str, lines: Iterable[str]) -> None:
        unfinished = self.folder / f"{name}.unfinished"
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        unfinished.rename(self.folder / name)


class Sender:
    """Posts the oldest batch until it has an answer, then the next; never two at a time."""

    def __init__(self, url: str, spool: Spool) -> None:
        self._url = f"{url.rstrip('/')}/v1/detections"
        self._spool = spool
        self._failures = 0
        self.not_before_s = 0.0

    def deliver(self) -> None:
        """Post what waits, until nothing does or Coincide asks for a pause."""
        for batch in self._spool.batches():
            if time.monotonic() < self.not_before_s or not self._deliver(batch):
                return

    def _deliver(self, batch: Path) -> bool:
        lines = batch.read_text(encoding="utf-8").splitlines()
        try:
            answer = post(self._url, lines)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return self._pause(None, str(error))
        if answer.status in {202, 422}:
            self._settle(lines, answer)
        elif answer.status == 413 and len(lines) > 1:
            self._spool.split(batch)
            return False  # the halves are next
        elif answer.status in {400, 413, 415}:
            for line in lines:
                self._spool.refuse(line, str(answer.body.get("detail")))
        else:
            return self._pause(answer.retry_after_s, f"{answer.status}: {answer.body.get('detail')}")
        batch.unlink()
        self._failures = 0
        return True

    def _settle(self, lines: list[str], answer: Answer) -> None:
        for verdict in answer.body.get("detections", []):
            if verdict["status"] == "refused":
                self._spool.refuse(lines[verdict["index"]], verdict["detail"])

    def _pause(self, retry_after_s: float | None, why: str) -> bool:
        pause_s = min(LONGEST_PAUSE_S, 2.0**self._failures) if retry_after_s is None else retry_after_s
        pause_s *= 1 + random.random() / 4  # noqa: S311 - so that many gateways do not come back at one moment
        log.warning("not delivered, next attempt in %.1f s: %s", pause_s, why)
        self._failures = min(self._failures + 1, 10)
        self.not_before_s = time.monotonic() + pause_s
        return False


def post(url: str, lines: list[str]) -> Answer:
    """Post a batch; OSError, HTTPException or ValueError where no proper answer comes."""
    body = gzip.compress("\n".join(lines).encode())
    headers = {"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip"}
    if key := os.environ.get("COINCIDE_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - the operator's own URL
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_WITHIN_S) as response:  # noqa: S310
            return _answer(response.status, response.headers.get("Retry-After"), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.headers.get("Retry-After"), error.read())


def _answer(status: int, retry_after: str | None, content: bytes) -> Answer:
    try:
        body = json.loads(content)
    except ValueError:
        if status in {202, 422}:
            raise  # somebody else answers in Coincide's place
        body = {}
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return Answer(status, seconds, body if isinstance(body, dict) else {})


def read_lines(arrived: queue.SimpleQueue[str | None]) -> None:
    """Hand on the lines of standard input, and None at its end."""
    for line in sys.stdin:
        if line.strip():
            arrived.put(line.strip())
    arrived.put(None)


def gather(arrived: queue.SimpleQueue[str | None]) -> tuple[list[str], bool]:
    """Return the lines of the next batch, and whether standard input has ended."""
    lines: list[str] = []
    until_s = time.monotonic() + GATHER_S
    while len(lines) < MOST_LINES:
        try:
            line = arrived.get(timeout=max(0.0, until_s - time.monotonic()))
        except queue.Empty:
            return lines, False
        if line is None:
            return lines, True
        lines.append(line)
    return lines, False


def main() -> None:
    """Gather and deliver by turns until standard input has ended and nothing waits."""
    parser = argparse.ArgumentParser(description="Post detections from standard input to Coincide.")
    parser.add_argument("url", help="where ingest is, such as http://127.0.0.1:8010")
    parser.add_argument("spool", type=Path, help="folder for what has not been delivered yet")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    spool = Spool(options.spool)
    sender = Sender(options.url, spool)
    arrived: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=read_lines, args=[arrived], daemon=True).start()
    ended = False
    while not ended or spool.batches():
        lines, ended = ([], True) if ended else gather(arrived)
        if lines:
            spool.add(lines)
        sender.deliver()
        if ended and spool.batches():
            time.sleep(max(0.0, sender.not_before_s - time.monotonic()))


if __name__ == "__main__":
    main()
