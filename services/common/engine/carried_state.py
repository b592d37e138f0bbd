"""CarriedState: what a line in one process knew when it ended, with which fusion on Spark begins."""

import os
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import json, msgpack

from coincide.fusion.batches.live_shard import Entry
from coincide.fusion.saving.state_format import FORMAT
from services.common.checkpoint_folder import CARRIED_FILE, IDENTITY_FILE, CheckpointIdentity, spark_folder
from services.common.engine.shard_state import Positions, state_in
from services.common.log.records import TopicPartition

_decode = msgpack.Decoder(tuple[list[tuple[str, int, int]], list[tuple[str, int, bytes]]]).decode


class CarriedState(NamedTuple):
    """The state of its one shard, and up to which offsets it has read detections and queries, by their short names."""

    positions: Positions
    entries: Mapping[Entry, bytes]

    @classmethod
    def of(cls, records: Iterable[tuple[bytes | None, bytes | None]]) -> "CarriedState | None":
        """Return the state of which these are the keys and values; None where there is none."""
        entries, positions = state_in(records)
        return cls(positions, entries) if entries else None

    def write(self, checkpoint: Path) -> None:
        """Make a checkpoint that begins with this state; it is there whole, or not at all."""
        unfinished = checkpoint.with_name(checkpoint.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)  # of an attempt that was cut short
        identity = CheckpointIdentity(uuid.uuid4().hex, FORMAT, shards=1)
        spark_folder(unfinished, identity.id).mkdir(parents=True)
        positions = [(*place, offset) for place, offset in self.positions.items()]
        entries = [(*entry, content) for entry, content in self.entries.items()]
        _write(unfinished / CARRIED_FILE, msgpack.encode((positions, entries)))
        _write(unfinished / IDENTITY_FILE, json.encode(identity))
        unfinished.rename(checkpoint)

    @classmethod
    def read(cls, checkpoint: Path) -> "CarriedState | None":
        """Return the state with which a checkpoint begins; None where it begins with none."""
        try:
            positions, entries = _decode((checkpoint / CARRIED_FILE).read_bytes())
        except FileNotFoundError:
            return None
        return cls(
            {TopicPartition(topic, number): offset for topic, number, offset in positions},
            {(kind, number): content for kind, number, content in entries},
        )


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
