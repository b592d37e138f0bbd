"""Standard input is read to its end, whatever signals come; test_replay.py has those that end a run."""

import os
import signal
import sys
from collections.abc import Iterator
from io import BufferedReader
from threading import Thread, get_ident
from typing import IO, cast

import pytest

from coincide.command.standard_input import interruptible_stdin


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[IO[bytes]]:
    """A pipe into standard input."""
    taken, given = os.pipe()
    with os.fdopen(taken, encoding="utf-8") as stdin, os.fdopen(given, "wb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield pipe


def test_a_wait_goes_on_after_a_handler_that_raises_nothing(pipe: IO[bytes]) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: pipe.write(b"of the handler"))
    signalled = Thread(target=lambda: signal.pthread_kill(get_ident(), signal.SIGUSR1))
    written = Thread(target=lambda: pipe.write(b"of the pipe"))
    try:
        with interruptible_stdin():
            for beside, content in ((signalled, b"of the handler"), (written, b"of the pipe")):
                beside.start()
                assert cast("BufferedReader", sys.stdin.buffer).read1(100) == content
                beside.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_standard_input_is_as_it_was_afterwards(pipe: IO[bytes]) -> None:
    before = sys.stdin
    pipe.write(b"a line\n")
    pipe.close()
    with interruptible_stdin():
        assert sys.stdin is not before
        assert (sys.stdin.fileno(), sys.stdin.isatty()) == (before.fileno(), False)
        assert sys.stdin.buffer.read() == b"a line\n"
    assert sys.stdin is before
    assert before.buffer.read() == b""
    assert signal.set_wakeup_fd(-1) == -1
