"""The checkpoint: one job at a time, and only one that fits what the checkpoint was made for.

The Java process holds it, because that is the one that writes the checkpoint: after SIGKILL of the Python process it
lives on for a second, and a lock of the Python process would already be free.

Spark takes the number of shards from the checkpoint without a word, so it is written down at the first start and
compared at every later one. What streams were declared is part of the state itself.
"""

import json
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.saving.state_format import FORMAT

_POLL_S = 0.2
_LINES_BEFORE_SOURCES = 2  # of Spark's file of a batch's offsets: its version and its properties; then a line a source
_NO_OFFSET = "-"


class LockError(Exception):
    """Another job holds the checkpoint; the message is one sentence for the operator."""


def lock_checkpoint(jvm: Any, checkpoint: Path, wait_s: float) -> Any:
    """Return the lock of ``checkpoint``, which the Java process keeps until it ends; keep the reference.

    It is a POSIX record lock on the file ``<checkpoint>.lock`` beside the folder, which need not exist yet. A job that
    is ending gets ``wait_s`` seconds to release it, then there is a `LockError`.
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


IDENTITY_FILE = "coincide.json"
_REBUILD = "start once with --rebuild to begin anew from the topics, or put the checkpoint back"


class CheckpointError(Exception):
    """The checkpoint cannot be used; the message is one sentence for the operator."""


@dataclass(frozen=True)
class Declared:
    """What a checkpoint is made for."""

    shards: int
    state_format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        """Return what is written into the checkpoint."""
        return {"state_format": self.state_format, "shards": self.shards}


def open_checkpoint(folder: Path, declared: Declared, *, rebuild: bool, has_matches: Callable[[], bool]) -> str:
    """Return the id of the checkpoint in ``folder``, whose lock the caller has; make one where there is none.

    ``rebuild`` deletes what is there. ``has_matches`` tells whether matches were ever written: without a checkpoint
    they say that it was lost. That, and a checkpoint made for something else, is a `CheckpointError`.
    """
    if rebuild and folder.exists():
        _delete(folder)
    identity = folder / IDENTITY_FILE
    wanted = declared.to_json()
    if identity.exists():
        written = _read(identity)
        _compare(folder, written, wanted)
        return str(written["id"])
    if (folder / "offsets").exists():
        raise CheckpointError(f"{folder} is a checkpoint of another job: {IDENTITY_FILE} is missing in it")
    if not rebuild and has_matches():
        raise CheckpointError(f"there is no checkpoint in {folder}, yet the match topic has matches: {_REBUILD}")
    checkpoint_id = uuid.uuid4().hex
    folder.mkdir(parents=True, exist_ok=True)
    _write(identity, {"id": checkpoint_id, **wanted})
    return checkpoint_id


def refuse_unfit(folder: Path, declared: Declared) -> None:
    """Raise CheckpointError if there is a checkpoint in ``folder`` that was made for something else; change nothing."""
    if (folder / IDENTITY_FILE).exists():
        _compare(folder, _read(folder / IDENTITY_FILE), declared.to_json())


def committed_offsets(folder: Path) -> dict[str, dict[str, int]] | None:
    """Return the offsets up to which (open) the last committed batch has read, by topic, then partition as text.

    That is nothing where no batch was committed, and None where what Spark wrote cannot be understood.
    """
    try:
        numbers = [int(path.name) for path in (folder / "commits").glob("[0-9]*")]
        if not numbers:
            return {}
        lines = (folder / "offsets" / str(max(numbers))).read_text(encoding="utf-8").splitlines()
        sources = [json.loads(line) for line in lines[_LINES_BEFORE_SOURCES:] if line != _NO_OFFSET]
        return {topic: dict(partitions) for source in sources for topic, partitions in source.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def _compare(folder: Path, written: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in ("state_format", "shards"):
        if written[name] != wanted[name]:
            was, now = written[name], wanted[name]
            raise CheckpointError(f"the checkpoint in {folder} was made with {name} {was}, not {now}: {_REBUILD}")


def _read(identity: Path) -> dict[str, Any]:
    try:
        written = json.loads(identity.read_text(encoding="utf-8"))
        return {name: written[name] for name in ("id", "state_format", "shards")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{identity} cannot be read ({error!r}): {_REBUILD}") from error


def _write(identity: Path, content: dict[str, Any]) -> None:
    fresh = identity.with_suffix(".fresh")
    fresh.write_text(json.dumps(content, indent=1), encoding="utf-8")
    fresh.replace(identity)


def _delete(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be deleted: {error.strerror}") from error
