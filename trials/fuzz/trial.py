"""Trying one input on a target: what it raises, and whether it takes too long."""

import hashlib
import time
import traceback
from typing import NamedTuple

from deploy.host.machine import ROOT
from trials.fuzz.target import Target, file_name

MOST_S = 1.0  # of CPU time, for `MOST_BYTES` at most
TOLD_TIMES = 3  # that an input must be slow before it counts: the machine may be at fault
OWN = ("coincide", "services", "spark_jobs")


class Finding(NamedTuple):
    """An input that breaks the law of a target: what happened, and in which line of ours."""

    target: str
    what: str
    place: str
    content: bytes
    said: str

    @property
    def kind(self) -> tuple[str, str, str]:
        """What findings of the same fault have in common."""
        return self.target, self.what, self.place

    @property
    def name(self) -> str:
        """A name for its file."""
        return f"{file_name(self.target)}-{hashlib.sha256(self.content).hexdigest()[:12]}"


def tried(target: Target, content: bytes) -> Finding | None:
    """Return what is wrong if the target takes these bytes; None where the law holds."""
    begun_s = time.process_time()
    try:
        target.take(content)
    except Exception as error:
        said = "".join(traceback.format_exception(error))
        return Finding(target.name, type(error).__name__, _place(error), content, said)
    if time.process_time() - begun_s <= MOST_S:
        return None
    took_s = min(_taken_s(target, content) for _ in range(TOLD_TIMES))
    if took_s <= MOST_S:
        return None
    return Finding(target.name, "TooSlow", "", content, f"it takes {took_s:.1f} s: at most {MOST_S:g} s are allowed\n")


def _taken_s(target: Target, content: bytes) -> float:
    begun_s = time.process_time()
    target.take(content)
    return time.process_time() - begun_s


def _place(error: Exception) -> str:
    """Return the innermost line of ours that the exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if each.filename.startswith(tuple(str(ROOT / name) for name in OWN))]
    return f"{ours[-1].filename.removeprefix(f'{ROOT}/')}:{ours[-1].lineno}" if ours else ""
