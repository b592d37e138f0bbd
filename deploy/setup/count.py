"""Run a program that fetches, and tell how far it is: a line every few seconds, to a person or into a file alike."""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

EVERY_S = 5.0


@dataclass
class Count:
    """How many things are there, of how many; the lines of the program that fetches them say so."""

    things: str  # what is counted, in the plural
    done: re.Pattern[str]  # a line that says that one more is there
    total: int = 0
    more: re.Pattern[str] | None = None  # a line that says that one more is needed
    less: re.Pattern[str] | None = None  # a line that says that one is not needed
    here: int = 0

    def take(self, line: str) -> None:
        """Count what a line says."""
        self.here += bool(self.done.search(line))
        self.total += bool(self.more and self.more.search(line))
        self.total -= bool(self.less and self.less.search(line))

    def said(self, after_s: float) -> str:
        """Return how far it is, in words."""
        counted = f"{self.here} of {self.total} {self.things}, " if self.total else ""
        return f"  {counted}{after_s:.0f} s"


def run_and_tell(
    command: Sequence[str],
    count: Count,
    log: Path,
    environ: Mapping[str, str] | None = None,
    every_s: float = EVERY_S,
) -> int:
    """Run ``command`` until it ends, and return its exit status; all that it says goes into ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("w", encoding="utf-8") as copy,
        subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        ) as process,
        _told(count, every_s),
    ):
        for line in process.stdout or []:
            copy.write(line)
            copy.flush()
            count.take(line)
    return process.returncode


@contextmanager
def _told(count: Count, every_s: float) -> Iterator[None]:
    ended, began_s = Event(), time.monotonic()

    def tell() -> None:
        while not ended.wait(every_s):
            print(count.said(time.monotonic() - began_s), flush=True)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()


def last_words(log: Path, lines: int = 5) -> str:
    """Return the end of a log, for whoever must find out why a program failed."""
    return "\n".join(f"  {line}" for line in log.read_text(encoding="utf-8").splitlines()[-lines:])
