"""SecondProcess: does tasks in a process of its own, one after the other; it ends with each, and with this one."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable

from msgspec import json

from services.line.past.task import Task

WORKER = (sys.executable, "-m", "services.line.past.worker")
LOOK_S = 0.1
MOST_SAID_BYTES = 4_000


class WorkerDiedError(Exception):
    """A task was not done, and nobody asked for that; the message says how its process ended."""

    def __init__(self, status: int, said: str) -> None:
        how = f"signal {-status} ended it" if status < 0 else (said or f"it ended with status {status}")
        super().__init__(how)
        self.was_killed = status < 0


class SecondProcess:
    """At most one at a time, whoever asks; who asks meanwhile waits."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def do(self, task: Task, is_unwanted: Callable[[], bool]) -> bool:
        """Do a task; return whether it was done, and not ended because nobody wants it. Raises `WorkerDiedError`."""
        while not self._turn.acquire(timeout=LOOK_S):
            if is_unwanted():
                return False
        try:
            return self._done(task, is_unwanted)
        finally:
            self._turn.release()

    def _done(self, task: Task, is_unwanted: Callable[[], bool]) -> bool:
        # a session of its own, which yields to this one as a whole, and which Ctrl-C does not reach
        with subprocess.Popen(  # noqa: S603
            WORKER, bufsize=0, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            said = _Said(process)
            try:
                assert process.stdin is not None  # noqa: S101 - it is a pipe
                process.stdin.write(json.encode(task) + b"\n")
                while process.poll() is None:
                    if is_unwanted():
                        return False
                    said.join(LOOK_S)
            except BrokenPipeError:
                process.wait()
            finally:
                process.kill()
            said.join()
        if process.returncode != 0:
            raise WorkerDiedError(process.returncode, said.last_line)
        return True


class _Said(threading.Thread):
    """Hands on what a process says on standard error, and remembers the last line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(name="past-said", daemon=True)
        self._stream = process.stderr
        self.last_line = ""
        self.start()

    def run(self) -> None:
        assert self._stream is not None  # noqa: S101 - it is a pipe
        for line in self._stream:
            text = line.decode(errors="replace")
            sys.stderr.write(text)
            self.last_line = text.strip()[:MOST_SAID_BYTES]
