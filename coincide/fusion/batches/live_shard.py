"""LiveShard: a shard between batches. Its host keeps the entries of its state, and writes the records that it tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import structs
from msgspec.json import decode, encode

from coincide.fusion.batches.activations import PushedOffsets
from coincide.fusion.batches.backlog import Backlog
from coincide.fusion.batches.batch_parts import BatchParts, size_of
from coincide.fusion.batches.cores import Core, CoreFactory
from coincide.fusion.control.host import Host
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.fusion.saving.state_format import reading
from coincide.wire.output_record import OutputRecord
from coincide.wire.shard_records import DeferralRecord
from coincide.wire.status_record import StatusRecord

Entry = tuple[str, int]
"""Kind and number of an entry of a shard's state."""

SLOT = "slot"
"""Kind of a slot of the core's journal."""

HEALTH = "health"
"""Kind of what was told last of the sensors of a part of an area."""

CHUNK = "chunk"
"""Kind of a chunk of the records that were left to a later batch."""

HEADER: Entry = ("header", 0)
"""The core's header. Before it stand the 8 bytes of a number that every batch of a shard raises by one, and how far
the detections have been pushed."""

_VERSION_BYTES = 8

ACTIVATIONS = "activations"
"""Topic that says before which detections each change of a query took effect."""

DEFERRALS = "deferrals"
"""Topic that a batch writes to when it leaves records, so that the next one begins at once."""

OUTPUT_TOPICS = ("matches", "episodes", "evidence", "dead-letters", "status", "sensor-health", ACTIVATIONS, DEFERRALS)
"""Every topic that a shard writes to."""


class AddressedRecord(NamedTuple):
    """One record to be written to a topic; no value removes what had the key."""

    topic: str
    key: bytes
    value: bytes | None


@dataclass(frozen=True)
class PartOutput:
    """What a part of a batch tells, in order, and what it changes of the state. The batch's last has the header."""

    records: list[AddressedRecord] = field(default_factory=list)
    state: dict[Entry, bytes | None] = field(default_factory=dict)  # None: the entry goes


@dataclass
class LiveShard:
    """A shard as it is after its batch number `version`: its core, the records left, and what its status told."""

    number: int
    version: int
    core: Core
    backlog: Backlog = field(default_factory=Backlog)
    pushed: PushedOffsets = field(default_factory=PushedOffsets)
    template_pairs: int = 0  # judged since the core was made or restored
    after_flood: bool = False  # see `BatchParts`

    @classmethod
    def restored(cls, cores: CoreFactory, number: int, entries: Mapping[Entry, bytes]) -> LiveShard:
        """Return the shard whose state these entries are; StateError if they are unusable."""
        kept: dict[str, dict[int, bytes]] = {SLOT: {}, CHUNK: {}, HEALTH: {}}
        for (kind, position), content in entries.items():
            kept.setdefault(kind, {})[position] = content
        stored = entries[HEADER]
        version = stored[:_VERSION_BYTES]
        with reading("the state"):
            pushed, header = PushedOffsets.split(stored[_VERSION_BYTES:])
            core = cores.restore(number, header, kept[SLOT].values())
            core.recall(kept[HEALTH])
            return cls(number, int.from_bytes(version), core, Backlog(kept[CHUNK]), pushed)

    def take(self, records: Sequence[InputRecord], host: Host, parts: BatchParts) -> Iterator[PartOutput]:
        """Push a batch, part by part, and leave what is too much. All its steps count, or none does.

        Records may come in any order. The steps that are yielded before the last one free their memory.
        """
        waiting = [*self.backlog.records, *records]
        told = [AddressedRecord(ACTIVATIONS, *each) for each in self.pushed.records(self.number, waiting)]
        step, status = PartOutput(), None
        for part in parts.cut(waiting):
            if step.records:
                yield step
                step = PartOutput()
            status = self._push(part, host, parts, step)
        self.after_flood = parts.after_flood
        self._leave(parts.left, step)
        self._end(step)
        step.records.extend(told)
        if status is not None:
            step.records.append(AddressedRecord("status", *with_left(status, len(parts.left))))
        if parts.left:
            step.records.append(AddressedRecord(DEFERRALS, *deferral_record(self.number, parts.left)))
        yield step

    def _push(self, part: Sequence[InputRecord], host: Host, parts: BatchParts, step: PartOutput) -> OutputRecord:
        output = self.core.push(part, host)
        self.pushed.took(part)
        step.records.extend(_answers(output))
        step.state.update({(SLOT, number): None for number in self.core.dropped_slots()})
        step.state.update({(SLOT, number): content for number, content in self.core.journal().items()})
        step.state.update({(HEALTH, number): record.value for number, record in output.health.items()})
        judged_before, self.template_pairs = self.template_pairs, template_pairs_of(output.status)
        answers = len(output.matches) + len(output.episodes) + len(output.evidence)
        parts.took(part, answers, self.template_pairs - judged_before)
        return output.status

    def _leave(self, left: Sequence[InputRecord], step: PartOutput) -> None:
        written, dropped = self.backlog.replace(left)
        step.state.update({(CHUNK, number): None for number in dropped})
        step.state.update({(CHUNK, number): content for number, content in written.items()})

    def _end(self, step: PartOutput) -> None:
        self.version += 1
        step.state[HEADER] = self.version.to_bytes(_VERSION_BYTES) + self.pushed.encode() + self.core.header()


def _answers(output: Output) -> list[AddressedRecord]:
    """Return all records of a part but its status."""
    return [
        *(AddressedRecord("matches", *record) for record in output.matches),
        *(AddressedRecord("episodes", *record) for record in output.episodes),
        *(AddressedRecord("evidence", *record) for record in output.evidence),
        *(AddressedRecord("dead-letters", *record) for record in output.dead_letters),
        *(AddressedRecord("sensor-health", *record) for record in output.health.values()),
    ]


def template_pairs_of(status: OutputRecord) -> int:
    """Return how many template pairs a core has judged so far, by its status."""
    return decode(status.value, type=StatusRecord).template_pairs.misses


def deferral_record(shard: int, left: Sequence[InputRecord]) -> OutputRecord:
    """Return the record that says how much a batch of a shard has left."""
    return DeferralRecord(shard=shard, records=len(left), bytes=size_of(left)).to_record()


def with_left(status: OutputRecord, records: int) -> OutputRecord:
    """Return a core's status that tells, too, how many records of detections wait in the shard's state."""
    if not records:
        return status
    told = decode(status.value, type=StatusRecord)
    return status._replace(value=encode(structs.replace(told, left=records)))
