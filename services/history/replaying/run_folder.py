"""RunFolder: the results of one run, apart from those of others and from what is live."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.json import Decoder

from services.common.clock import system_clock_us
from services.history.replaying.request import AnyRequest, RunError

MATCHES, EPISODES, TEMPLATES = "matches.ndjson", "episodes.ndjson", "templates.ndjson"
SUMMARY = "summary.json"
CANCELLED = ".cancelled"


class ComparedMember(Struct):
    """When a member of a match was detected."""

    detected_at_us: int


class ComparedEvidence(Struct, frozen=True, gc=False):
    """What a comparison needs of evidence."""

    bits: float | None
    posterior: float | None
    unknown: str | None = None


class ComparedMatch(Struct):
    """What a comparison needs of a match record."""

    id: str
    query: str
    probability: float
    received_at_us: int
    members: list[ComparedMember]
    supersedes: list[str] = []
    evidence: ComparedEvidence | None = None


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run: `summary.json`, and what it found: matches, episodes or templates."""

    path: Path

    def summary(self) -> dict[str, Any]:
        """Return what was last said of the run; RunError where there is none."""
        try:
            said: dict[str, Any] = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"there is no run in {self.path}: {error}") from None
        return said

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody has cancelled the run, which goes on until it sees that."""
        return (self.path / CANCELLED).exists()

    def note_cancelled(self) -> None:
        """Remember that somebody has cancelled the run, also where the process is killed before it sees that."""
        (self.path / CANCELLED).touch()

    def sweep(self) -> None:
        """Delete what a process left that was killed."""
        for left in self.path.glob(".*/"):
            shutil.rmtree(left, ignore_errors=True)

    @property
    def size(self) -> int:
        """How many bytes its files have."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def tell(self, summary: dict[str, Any]) -> None:
        """Replace what is said of the run, at once and whole."""
        self.path.mkdir(parents=True, exist_ok=True)
        fresh = self.path / f".{SUMMARY}.{os.getpid()}"
        fresh.write_text(json.dumps(summary, indent=1), encoding="utf-8")
        fresh.replace(self.path / SUMMARY)

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Yield a file, which has its name only once the block has ended well."""
        self.path.mkdir(parents=True, exist_ok=True)
        fresh = self.path / f".{name}.{os.getpid()}"
        with fresh.open("wb") as file:
            yield file
        fresh.replace(self.path / name)

    def matches(self) -> Iterator[ComparedMatch]:
        """Yield the matches of a run that has ended."""
        try:
            with (self.path / MATCHES).open("rb") as lines:
                yield from map(_match_decoder.decode, lines)
        except OSError as error:
            raise RunError(f"{self.path / MATCHES} cannot be read: {error.strerror}") from None


_match_decoder = Decoder(ComparedMatch)


@dataclass
class Reporter:
    """Says how far a run has come, at most once a second, and ends it where somebody wants that."""

    folder: RunFolder
    request: AnyRequest
    is_cancelled: Callable[[], bool]
    show: Callable[[float], None] = lambda _share: None
    every_s: float = 1.0
    archive_state: str | None = None  # of the range, when the run began

    def __post_init__(self) -> None:
        self._started_us, self._told_s = system_clock_us(), -float("inf")

    def progress(self, share: float) -> None:
        """Take note of the share that is done; CancelledError if nobody wants the rest."""
        if self.is_cancelled():
            raise CancelledError
        if time.monotonic() - self._told_s >= self.every_s:
            self._told_s = time.monotonic()
            self.show(share)
            self.tell("running", progress=round(min(share, 1.0), 4))

    def tell(self, state: str, **figures: Any) -> dict[str, Any]:
        """Write and return the summary."""
        summary = self.summary(state, **figures)
        self.folder.tell(summary)
        return summary

    def summary(self, state: str, **figures: Any) -> dict[str, Any]:
        """Return the summary as it would be told."""
        return {
            "v": 1,
            "run": self.request.id,
            "state": state,
            "started_at_us": self._started_us,
            "told_at_us": system_clock_us(),
            "request": self.request.to_json(),
            **({"archive_state": self.archive_state} if self.archive_state else {}),
            **figures,
        }


class CancelledError(Exception):
    """Somebody has cancelled the run."""
