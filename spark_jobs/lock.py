"""The lock that keeps two jobs off one checkpoint.

The Java process holds it, because that is the one that writes the checkpoint: after SIGKILL of the Python process it
lives on for a second, and a lock of the Python process would already be free.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

_POLL_S = 0.2


class LockError(Exception):
    """Another job holds the checkpoint; the message is one sentence for the operator."""


def lock_checkpoint(jvm: Any, checkpoint: Path, wait_s: float) -> Any:
    """Return the lock of ``checkpoint``, held until the Java process ends; keep the reference.

    It is a POSIX record lock on the file ``<checkpoint>.lock`` beside it.

    Parameters
    ----------
    jvm
        py4j's view of the Java process.
    checkpoint
        Folder, which need not exist yet.
    wait_s
        How long to wait for a job that is ending.

    Raises
    ------
    LockError
        Another process still held it after ``wait_s`` seconds.
    """
    path = lock_path(checkpoint)
    path.parent.mkdir(parents=True, exist_ok=True)
    channel = jvm.java.io.RandomAccessFile(str(path), "rw").getChannel()
    deadline_s = time.monotonic() + wait_s
    while (lock := channel.tryLock()) is None:
        if time.monotonic() >= deadline_s:
            channel.close()
            raise LockError(f"another fusion job is running on the checkpoint {checkpoint}: it holds {path}")
        time.sleep(_POLL_S)
    return lock


def lock_path(checkpoint: Path) -> Path:
    """Return the lock file of ``checkpoint``."""
    absolute = checkpoint.absolute()
    return absolute.with_name(absolute.name + ".lock")
