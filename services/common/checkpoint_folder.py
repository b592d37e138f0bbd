"""The folder of fusion's checkpoint, which fusion writes and a backup copies: its own files, and where Spark's are."""

from pathlib import Path

from msgspec import Struct, json

#: Kafka's own ids of the topics that a checkpoint has read. A restore makes new topics, so no backup has it.
IDS_FILE = "topics.json"
IDENTITY_FILE = "coincide.json"
#: The state that a line in one process has left, with which a checkpoint begins.
CARRIED_FILE = "carried.msgpack"
UNREADABLE = (OSError, ValueError, RecursionError)  # of a file that was damaged, or is gone


class CheckpointIdentity(Struct, frozen=True):
    """Which checkpoint it is, and what it was made for: what `IDENTITY_FILE` says."""

    id: str
    state_format: int
    shards: int


def read_identity(folder: Path) -> CheckpointIdentity:
    """Return the identity of the checkpoint in ``folder``; where it cannot be read, there is one of `UNREADABLE`."""
    return json.decode((folder / IDENTITY_FILE).read_bytes(), type=CheckpointIdentity)


def spark_folder(folder: Path, checkpoint_id: str) -> Path:
    """Return where Spark keeps the checkpoint of this id.

    A rebuild begins in another one. What Spark's maintenance still writes for the checkpoint before, on any host and a
    minute later, is in nobody's way.
    """
    return folder / checkpoint_id


def newest_batch(log: Path) -> int | None:
    """Return the number of the newest batch of a log of Spark, such as ``commits``; None where it has none."""
    return max((int(each.name) for each in log.glob("[0-9]*") if each.name.isdecimal()), default=None)
