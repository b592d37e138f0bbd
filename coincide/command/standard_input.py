"""Standard input whose reads end when a signal comes, also one that comes right before a read.

Python notes a signal and calls its handler before the next line. If the next thing is a read from a quiet pipe, the
system knows of no signal any more and waits, and the handler waits with it. So the wait is for two things: bytes, and
the socket to which Python writes when it notes a signal.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, FileIO, RawIOBase, TextIOWrapper
from select import select
from socket import socket, socketpair
from typing import Any

NOTED_BYTES = 4096


@contextmanager
def interruptible_stdin() -> Iterator[None]:
    """Let handlers of signals run while standard input is waited for; only the main thread may ask for it."""
    before, raw = sys.stdin, getattr(getattr(sys.stdin, "buffer", None), "raw", None)
    if not isinstance(raw, FileIO):  # closed, or not the system's
        yield
        return
    noted, note = socketpair()
    with noted, note:
        noted.setblocking(False)
        note.setblocking(False)
        noted_before = signal.set_wakeup_fd(note.fileno(), warn_on_full_buffer=False)
        sys.stdin = TextIOWrapper(BufferedReader(_Interruptible(raw, noted)))
        try:
            yield
        finally:
            sys.stdin = before
            signal.set_wakeup_fd(noted_before)


class _Interruptible(RawIOBase):
    """Reads from `raw`; waits for it and for what is noted of signals."""

    def __init__(self, raw: FileIO, noted: socket) -> None:
        self._raw, self._noted = raw, noted

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw.isatty()

    def readinto(self, into: Any) -> int | None:
        waiting_for: list[FileIO | socket] = [self._raw, self._noted]
        while self._raw not in (there := select(waiting_for, [], [])[0]):
            if there:  # the handler has run, and raised nothing
                self._noted.recv(NOTED_BYTES)
        return self._raw.readinto(into)
