"""What a start of fusion finds of itself: the state that Spark has kept, and the files of the checkpoint."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from msgspec import json

from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.batches.live_shard import LiveShard
from services.common.checkpoint_folder import IDENTITY_FILE
from spark_jobs.recovery.checkpoint import (
    CheckpointPurpose,
    committed_offsets,
    open_checkpoint,
    refuse_damaged_logs,
)
from spark_jobs.recovery.halt import Halt, halt_of
from tests.coincide.fusion.inputs import STREAMS
from tests.coincide.fusion.saving.saved_states import LIMITS, State, load
from tests.coincide.fusion.saving.test_saved_states import PRESENT
from trials.fuzz.target import BrokenLaw, Target, own_folder


@cache
def _state() -> State:
    return load(PRESENT)[0]


def _entry(line: bytes) -> None:
    """Put one entry of the state in the place of the right one, and restore the shard."""
    named, _, content = line.partition(b"\n")
    kind, _, number = named.decode("latin-1").partition(" ")
    key = kind, int(number) if number.removeprefix("-").isascii() and number.removeprefix("-").isdigit() else 0
    state = {**_state(), key: content}
    kept = {key: entry for key, entry in state.items() if key[0] in {each for each, _ in _state()}}
    try:
        LiveShard.restored(FusionCores(STREAMS, LIMITS), 0, kept)
    except Exception as error:
        reported = RuntimeError(f"org.apache.spark: Traceback:\n{type(error).__name__}: {error}\n\tat java")
        halt = halt_of(reported)
        if halt is None:
            raise
        if halt.reason not in ("checkpoint_damaged", "checkpoint_unfit"):
            raise BrokenLaw(f"it halts as {halt.reason}") from error


def _entries() -> Sequence[bytes]:
    return [f"{kind} {number}\n".encode() + content for (kind, number), content in sorted(_state().items())]


FILES = {
    IDENTITY_FILE: json.encode(CheckpointPurpose(1).identity("a")),
    "a/offsets/3": b'v1\n{"batchWatermarkMs":0,"conf":{}}\n{"coincide.detections":{"0":12}}\n-\n',
    "a/commits/3": b'v1\n{"nextBatchWatermarkMs":0}\n',
}


def _checkpoint(line: bytes) -> None:
    """Put one file of the checkpoint in the place of the right one, and look at it as a start does."""
    name, _, content = line.partition(b"\n")
    files = {**FILES, **({name.decode(): content} if name.decode("latin-1") in FILES else {IDENTITY_FILE: content})}
    folder = own_folder()
    for each, inside in files.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_bytes(inside)
    _halted(_open, folder)
    for look in (refuse_damaged_logs, committed_offsets):
        _halted(look, folder / "a")


def _open(folder: Path) -> str:
    return open_checkpoint(folder, CheckpointPurpose(1), rebuild=False, has_matches=lambda: True)


def _halted(look: Callable[[Path], object], folder: Path) -> None:
    try:
        look(folder)
    except Halt:
        return


TARGETS = (
    Target(
        "saved/state",
        "the shard is restored, or fusion halts and says that the checkpoint is damaged or unfit",
        _entry,
        _entries,
    ),
    Target(
        "saved/checkpoint",
        "a start goes on, or halts",
        _checkpoint,
        lambda: [name.encode() + b"\n" + content for name, content in FILES.items()],
    ),
)
