"""The checkpoint: one job at a time, and only one that fits what the checkpoint was made for.

The Java process holds it, because that is the one that writes the checkpoint: after SIGKILL of the Python process it
lives on for a second, and a lock of the Python process would already be free.

Spark takes the number of shards from the checkpoint without a word, so it is written down at the first start and
compared at every later one. What streams were declared is part of the state itself. Where Spark goes on with a damaged
checkpoint, or tries again for ever, a start looks first and says so.
"""

import json
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from coincide.fusion.saving.state_format import FORMAT
from services.common.checkpoint_folder import (
    CARRIED_FILE,
    IDENTITY_FILE,
    IDS_FILE,
    UNREADABLE,
    CheckpointIdentity,
    newest_batch,
    read_identity,
    spark_folder,
)
from spark_jobs.recovery.halt import Halt, damaged

_POLL_S = 0.2
_LINES_BEFORE_SOURCES = 2  # of Spark's file of a batch's offsets: its version and its properties; then a line a source
_NO_OFFSET = "-"
_MISREAD = (*UNREADABLE, LookupError, TypeError, AttributeError)  # of what Spark wrote, which has no one shape


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


@dataclass(frozen=True)
class CheckpointPurpose:
    """What a checkpoint is made for."""

    shards: int
    state_format: int = FORMAT

    def identity(self, checkpoint_id: str) -> CheckpointIdentity:
        """Return what is written into the checkpoint of this id."""
        return CheckpointIdentity(checkpoint_id, self.state_format, self.shards)


def open_checkpoint(
    folder: Path, declared: CheckpointPurpose, *, rebuild: bool, has_matches: Callable[[], bool]
) -> str:
    """Return the id of the checkpoint in ``folder``, whose lock the caller has; make one where there is none.

    ``rebuild`` makes one anew. ``has_matches`` tells whether matches were ever written: without a checkpoint they say
    that it was lost. That, a damaged checkpoint, and one made for something else, is a `Halt`.
    """
    identity = folder / IDENTITY_FILE
    if rebuild:
        _delete_all_but(None, folder)  # first: the disk may be full
        forget_carried(folder)
    elif identity.exists():
        checkpoint_id = _known_id(folder, declared)
        _delete_all_but(checkpoint_id, folder)
        return checkpoint_id
    elif any(folder.glob("*/offsets")):
        raise damaged(f"it has no {IDENTITY_FILE}, or is of another job", str(folder))
    elif has_matches():
        raise Halt("checkpoint_lost", "the checkpoint is gone, yet there are matches", str(folder))
    checkpoint_id = uuid.uuid4().hex
    spark_folder(folder, checkpoint_id).mkdir(parents=True)
    _write(identity, to_builtins(declared.identity(checkpoint_id)))
    return checkpoint_id


def forget_carried(folder: Path) -> None:
    """Delete the state that a line in one process has left, where the checkpoint has one of its own."""
    (folder / CARRIED_FILE).unlink(missing_ok=True)


def _known_id(folder: Path, wanted: CheckpointPurpose) -> str:
    written = _read(folder)
    _compare(folder, written, wanted)
    if not spark_folder(folder, written.id).is_dir():
        raise damaged(f"it has no folder {written.id}", str(folder))
    return written.id


def _delete_all_but(checkpoint_id: str | None, folder: Path) -> None:
    """Delete the checkpoints of other ids, as far as they can be deleted."""
    for other in folder.iterdir() if folder.exists() else ():
        if other.is_dir() and other.name != checkpoint_id:
            shutil.rmtree(other, ignore_errors=True)


def lost_checkpoint(folder: Path) -> Halt | None:
    """Return the halt of a job that works, where somebody has deleted its checkpoint.

    Spark does not notice: it writes on into a folder of the same name, from which nobody can go on.
    """
    try:
        (folder / IDENTITY_FILE).stat()
    except FileNotFoundError:
        return Halt("checkpoint_lost", "the checkpoint was deleted while fusion used it", str(folder))
    except OSError:  # a disk that does not answer now has lost nothing yet
        return None
    return None


def refuse_replaced_topics(folder: Path, ids: Mapping[str, str]) -> None:
    """Raise a Halt where a topic is another one than the checkpoint in ``folder`` has read; else note them there.

    ``ids`` are Kafka's own: a topic that was made again under its name has other records. Offsets alone show that only
    as long as it has fewer than were read of the old one. A checkpoint that was put back knows no ids.
    """
    known = _known_topics(folder / IDS_FILE)
    for topic, id_ in ids.items():
        if known.get(topic, id_) != id_:
            raise Halt("topic_replaced", f"the topic {topic} was replaced (another one has its name)")
    if known != ids:
        _write(folder / IDS_FILE, ids)


def _known_topics(file: Path) -> dict[str, str]:
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except _MISREAD:
        return {}


def rebuild_request(checkpoint: Path) -> Path:
    """Return the file that asks the job on ``checkpoint`` for a rebuild; the job deletes it once it began."""
    absolute = checkpoint.absolute()
    return absolute.with_name(absolute.name + ".rebuild")


def ask_for_rebuild(checkpoint: Path) -> None:
    """Have the job that runs, or its next start, delete the checkpoint and begin anew, whoever starts it."""
    request = rebuild_request(checkpoint)
    request.parent.mkdir(parents=True, exist_ok=True)
    request.touch()


def offsets_of(folder: Path) -> dict[str, dict[str, int]] | None:
    """Return the `committed_offsets` of the checkpoint in ``folder``: nothing where there is none."""
    if not (folder / IDENTITY_FILE).exists():
        return {}
    try:
        return committed_offsets(spark_folder(folder, _read(folder).id))
    except Halt:
        return None


def committed_offsets(folder: Path) -> dict[str, dict[str, int]] | None:
    """Return the offsets up to which (open) the last committed batch has read, by topic, then partition as text.

    That is nothing where no batch was committed, and None where what Spark wrote cannot be understood.
    """
    newest = newest_batch(folder / "commits")
    if newest is None:
        return {}
    try:
        lines = (folder / "offsets" / str(newest)).read_text(encoding="utf-8").splitlines()
        sources = [json.loads(line) for line in lines[_LINES_BEFORE_SOURCES:] if line != _NO_OFFSET]
        return {topic: dict(partitions) for source in sources for topic, partitions in source.items()}
    except _MISREAD:
        return None


def refuse_damaged_logs(folder: Path) -> None:
    """Raise a Halt if Spark cannot read in ``folder`` which batches it planned, and which of them it committed.

    Of what it goes on with where these are gone, the state would hold too much or too little.
    """
    for name, nouns in (("offsets", "planned batch"), ("commits", "committed batch")):
        newest = newest_batch(folder / name)
        if newest is not None and not _is_whole(folder / name / str(newest)):
            raise damaged(f"its newest {nouns} cannot be read", str(folder / name / str(newest)))
    if committed_offsets(folder) is None:
        raise damaged("the offsets of its newest committed batch cannot be read", str(folder))
    if newest_batch(folder / "offsets") is None and (folder / "state").exists():
        raise damaged("it has a state, and no planned batches", str(folder))


def _is_whole(entry: Path) -> bool:
    """Whether the file is a version and lines of JSON, as Spark writes the entries of its logs."""
    try:
        version, *lines = entry.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line != _NO_OFFSET:
                json.loads(line)
    except _MISREAD:
        return False
    return version.startswith("v") and bool(lines)


def _compare(folder: Path, written: CheckpointIdentity, wanted: CheckpointPurpose) -> None:
    for name in ("state_format", "shards"):
        was, now = getattr(written, name), getattr(wanted, name)
        if was != now:
            raise Halt("checkpoint_unfit", f"the checkpoint was made with {name} {was}, not {now}", str(folder))


def _read(folder: Path) -> CheckpointIdentity:
    try:
        return read_identity(folder)
    except UNREADABLE as error:
        raise damaged(f"its {IDENTITY_FILE} cannot be read", f"{folder / IDENTITY_FILE}: {error!r}") from error


def _write(file: Path, content: Mapping[str, Any]) -> None:
    fresh = file.with_suffix(".fresh")
    fresh.write_text(json.dumps(content, indent=1), encoding="utf-8")
    fresh.replace(file)
