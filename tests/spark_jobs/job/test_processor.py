"""The stateful operator without a JVM: Spark's own tester holds the state."""

import gc
import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import Mock

import msgspec
import pandas as pd
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester

from coincide.fusion.batches.batch_parts import BatchParts
from coincide.fusion.batches.live_shard import Entry, LiveShard
from coincide.fusion.control.host import UNKNOWING, Host
from coincide.fusion.records.kafka_records import InputRecord, KeptRecord, Output
from coincide.sliding.choice import TYPICAL, SlidingCosts
from coincide.wire.output_record import OutputRecord
from coincide.wire.status_record import StatusRecord
from services.common.engine.carried_state import CarriedState
from services.common.engine.shard_state import entry_of, records_of
from services.common.log.records import TopicPartition
from spark_jobs.job import processor as processor_module
from spark_jobs.job.control_ahead import ControlAhead
from spark_jobs.job.processor import FusionProcessor

TOPICS = {
    "matches": "m",
    "episodes": "e",
    "dead-letters": "d",
    "status": "s",
    "sensor-health": "h",
    "activations": "a",
    "deferrals": "later",
}
KEY_OF_SHARD = [0, 2]
_checkpoints = itertools.count()


TOLD = json.loads(Path("docs/contracts/status.schema.json").read_text(encoding="utf-8"))["examples"][0]


def status(batches: int, **others: Any) -> bytes:
    return msgspec.json.encode(msgspec.convert({**TOLD, "control_offset": batches, **others}, StatusRecord))


@dataclass
class RecordingCore:
    """Keeps every value it was given, a slot for each batch, and drops the slot before the last."""

    values: list[bytes]
    batches: int
    stopped: list[Mapping[str, int]] = field(default_factory=list)
    recalled: list[dict[int, bytes]] = field(default_factory=list)
    tells: ClassVar[dict[int, KeptRecord]] = {}

    def push(self, records: Sequence[InputRecord], host: Host = UNKNOWING) -> Output:
        self.stopped.append(host.stopped())
        ordered = sorted(records, key=lambda record: (record.partition, record.offset))
        self.new = [record.value or b"" for record in ordered]
        self.values += self.new
        self.batches += 1
        matches, episodes = ([OutputRecord(b"area", value)] for value in (b"+".join(self.values), b"told"))
        told = OutputRecord(b"status", status(self.batches))
        return Output(told, matches, episodes, dead_letters=[OutputRecord(b"", b"dead")], health=self.tells)

    def header(self) -> bytes:
        return b"%d" % self.batches

    def journal(self) -> dict[int, bytes]:
        return {self.batches: b"+".join(self.new)}

    def dropped_slots(self) -> list[int]:
        return [self.batches - 2] if self.batches > 2 else []

    def recall(self, health: Mapping[int, bytes]) -> None:
        self.recalled.append(dict(health))


@dataclass
class RecordingCores:
    costs: SlidingCosts = TYPICAL
    restored: list[tuple[int, bytes, list[bytes]]] = field(default_factory=list)
    stopped: list[Mapping[str, int]] = field(default_factory=list)  # that the cores were told, part by part

    def create(self, shard: int) -> RecordingCore:
        return RecordingCore([], 0, self.stopped)

    def restore(self, shard: int, header: bytes, slots: Iterable[bytes]) -> RecordingCore:
        kept = list(slots)
        self.restored.append((shard, header, kept))
        return RecordingCore([value for slot in kept for value in slot.split(b"+")], int(header), self.stopped)


@pytest.fixture
def cores() -> RecordingCores:
    return RecordingCores()


@pytest.fixture
def processor(cores: RecordingCores) -> FusionProcessor:
    return FusionProcessor(cores, f"checkpoint-{next(_checkpoints)}", KEY_OF_SHARD, TOPICS)


@pytest.fixture
def tester(processor: FusionProcessor) -> TwsTester:
    return TwsTester(processor)


def batch(*values: bytes, start: int = 0) -> pd.DataFrame:
    rows = [("detections", 0, start + i, b"area", value) for i, value in enumerate(values)]
    return pd.DataFrame(rows, columns=["role", "partition", "offset", "key", "value"])


def slots(tester: TwsTester) -> list[int]:
    return sorted(number for kind, number in tester.peekMapState("shard", 0) if kind == "slot")


def written(frame: pd.DataFrame) -> list[tuple[str, bytes, Any]]:
    return [tuple(row) for row in frame.itertuples(index=False)]


def test_matches_episodes_dead_letters_and_status_go_to_their_topics(tester: TwsTester) -> None:
    out = tester.testInPandas(0, batch(b"x"))
    assert written(out) == [
        ("m", b"area", b"x"),
        ("e", b"area", b"told"),
        ("d", b"", b"dead"),
        ("s", b"status", status(1)),
    ]


def test_what_is_told_of_sensors_is_saved_and_recalled_and_what_is_gone_is_removed(
    tester: TwsTester, processor: FusionProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written_when(tells: dict[int, KeptRecord], start: int) -> list[tuple[str, bytes, Any]]:
        monkeypatch.setattr(RecordingCore, "tells", tells)
        return written(tester.testInPandas(0, batch(b"x", start=start)))

    both = {0: KeptRecord(b"bay 0", b"first"), 1: KeptRecord(b"bay 1", b"second")}
    assert ("h", b"bay 1", b"second") in written_when(both, 0)
    assert ("h", b"bay 1", None) in written_when({1: KeptRecord(b"bay 1", None)}, 1)
    of_this = processor._checkpoint_id, 0
    del processor_module._cached_shards[of_this]
    written_when({}, 2)
    core = processor_module._cached_shards[of_this][1].core
    assert isinstance(core, RecordingCore)
    assert core.recalled == [{0: b"first"}]


def test_what_lives_is_left_out_of_collections_and_looked_at_again_now_and_then(
    tester: TwsTester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor_module, "BATCHES_UNTIL_THAW", 3)
    monkeypatch.setattr(processor_module, "_batches", itertools.count(1))
    frozen = []
    for offset in range(4):
        tester.testInPandas(0, batch(b"x", start=offset))
        frozen.append(gc.get_freeze_count() > 0)
    gc.unfreeze()
    assert frozen == [True, True, False, True]


def test_all_chunks_of_a_batch_are_one_push(tester: TwsTester, processor: FusionProcessor) -> None:
    tester.handle.setGroupingKey(0)
    [out] = processor.handleInputRows((0,), iter([batch(b"late", start=7), batch(b"early")]), None)
    assert written(out)[0] == ("m", b"area", b"early+late")


def test_a_batch_of_many_bytes_is_pushed_in_parts_and_tells_its_status_once(
    tester: TwsTester, processor: FusionProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "_begin_parts", partial(BatchParts, most_part_bytes=2))
    tester.handle.setGroupingKey(0)
    first, second = processor.handleInputRows((0,), iter([batch(b"x", b"y", b"z")]), None)
    assert written(first)[0] == ("m", b"area", b"x+y")
    assert [each[0] for each in written(first)] == ["m", "e", "d"]
    assert written(second)[0] == ("m", b"area", b"x+y+z")
    assert written(second)[-1] == ("s", b"status", status(2))
    assert slots(tester) == [1, 2]
    assert written(tester.testInPandas(0, batch(b"w")))[0][2] == b"x+y+z+w"


def test_every_part_of_a_batch_is_told_which_queries_are_stopped_by_now(cores: RecordingCores) -> None:
    ahead, bytewise = Mock(ControlAhead), partial(BatchParts, most_part_bytes=1)
    ahead.stopped.side_effect = [{}, {"near": 2}]
    name = f"checkpoint-{next(_checkpoints)}"
    processor = FusionProcessor(cores, name, KEY_OF_SHARD, TOPICS, lambda: ahead, bytewise)
    TwsTester(processor).testInPandas(0, batch(b"x", b"y"))
    ahead.begin.assert_called_once()
    assert cores.stopped == [{}, {"near": 2}]


def test_a_new_checkpoint_begins_with_the_state_that_a_line_in_one_process_has_left(
    cores: RecordingCores, tmp_path: Path
) -> None:
    shard = LiveShard(0, 0, cores.create(0))
    state: dict[Entry, bytes | None] = {}
    for step in shard.take([InputRecord("detections", 0, 0, b"area", b"before")], UNKNOWING, BatchParts()):
        state |= step.state
    positions = entry_of({TopicPartition("detections", 0): 1})
    carried = CarriedState.of((each.key, each.value) for each in records_of("shard-state", {**state, **positions}))
    assert carried is not None
    carried.write(tmp_path / "checkpoint")
    name = f"checkpoint-{next(_checkpoints)}"
    processor = FusionProcessor(cores, name, KEY_OF_SHARD, TOPICS, carried=tmp_path / "checkpoint")
    tester = TwsTester(processor)
    assert written(tester.testInPandas(0, batch(b"after", start=1)))[0] == ("m", b"area", b"before+after")
    assert slots(tester) == [1, 2]
    del processor_module._cached_shards[name, 0]
    assert written(tester.testInPandas(0, batch(b"later", start=2)))[0][2] == b"before+after+later"
    assert CarriedState.read(tmp_path / "checkpoint") == carried


def test_each_shard_has_a_core_that_stays_in_memory_between_batches(tester: TwsTester, cores: RecordingCores) -> None:
    tester.testInPandas(0, batch(b"x"))
    assert written(tester.testInPandas(2, batch(b"w")))[0][2] == b"w"
    assert written(tester.testInPandas(0, batch(b"y")))[0][2] == b"x+y"
    assert cores.restored == []


def test_a_core_ahead_of_the_state_is_thrown_away(tester: TwsTester, cores: RecordingCores) -> None:
    """A task that failed after its push has left a core that knows rows which the state does not."""
    tester.testInPandas(0, batch(b"x"))
    committed = tester.peekMapState("shard", 0)
    tester.testInPandas(0, batch(b"lost"))
    tester.updateMapState("shard", 0, committed)
    assert written(tester.testInPandas(0, batch(b"y")))[0][2] == b"x+y"
    assert cores.restored == [(0, b"1", [b"x"])]


def test_a_core_ahead_is_thrown_away_though_its_header_is_that_of_the_state(
    tester: TwsTester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the number of the batch tells the two."""
    monkeypatch.setattr(RecordingCore, "header", lambda _core: b"1")
    tester.testInPandas(0, batch(b"x"))
    committed = tester.peekMapState("shard", 0)
    tester.testInPandas(0, batch(b"lost"))
    tester.updateMapState("shard", 0, committed)
    assert written(tester.testInPandas(0, batch(b"y")))[0][2] == b"x+y"


def test_another_worker_goes_on_from_the_state(
    tester: TwsTester, processor: FusionProcessor, cores: RecordingCores
) -> None:
    for value in (b"x", b"y", b"z"):
        tester.testInPandas(0, batch(value))
    assert slots(tester) == [2, 3]  # slot 1 was dropped with batch 3
    processor._checkpoint_id += "-seen-by-nobody"
    tester.testInPandas(0, batch(b"w"))
    assert cores.restored == [(0, b"3", [b"y", b"z"])]


def change(offset: int, id_: str = "near") -> pd.DataFrame:
    value = b'{"v":1,"id":"%s","version":%d,"changed_at_us":0,"removed":true}' % (id_.encode(), offset + 1)
    rows = [("queries", 0, offset, id_.encode(), value)]
    return pd.DataFrame(rows, columns=["role", "partition", "offset", "key", "value"])


def activations(out: pd.DataFrame) -> list[tuple[bytes, int, dict[str, int]]]:
    told = [(key, json.loads(value)) for topic, key, value in written(out) if topic == "a"]
    assert all(each["change"]["id"].encode() == key for key, each in told)
    return [(key, each["control_offset"], each["offsets"]) for key, each in told]


def test_a_change_is_told_with_the_first_detections_that_it_holds_for(
    tester: TwsTester, processor: FusionProcessor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert activations(tester.testInPandas(0, change(0))) == [(b"near", 0, {})]
    other = batch(b"w", start=30).assign(partition=1)
    tester.testInPandas(0, pd.concat([batch(b"x", b"y", start=5), other]))
    both = pd.concat([batch(b"z", start=9), change(1), change(2, "far"), batch(b"none").assign(role="queries")])
    assert activations(tester.testInPandas(0, both)) == [
        (b"near", 1, {"0": 9, "1": 31}),
        (b"far", 2, {"0": 9, "1": 31}),
    ]
    processor._checkpoint_id += "-seen-by-nobody"
    assert activations(tester.testInPandas(0, change(3))) == [(b"near", 3, {"0": 10, "1": 31})]
    monkeypatch.setattr(processor, "_begin_parts", partial(BatchParts, most_part_bytes=1, most_us=1))
    assert activations(tester.testInPandas(0, batch(b"a", b"b", b"c", start=10))) == []
    assert activations(tester.testInPandas(0, change(4))) == [(b"near", 4, {"0": 11, "1": 31})]


def test_what_is_left_is_kept_and_told_and_goes_on_with_the_next_batch(
    tester: TwsTester, processor: FusionProcessor, monkeypatch: pytest.MonkeyPatch, cores: RecordingCores
) -> None:
    monkeypatch.setattr(processor, "_begin_parts", partial(BatchParts, most_part_bytes=1, most_us=1))
    out = written(tester.testInPandas(0, batch(b"x", b"y", b"z")))
    assert out[0] == ("m", b"area", b"x")
    assert out[-1] == ("later", b"shard-0", b'{"v":1,"shard":0,"records":2,"bytes":2}')
    assert out[-2] == ("s", b"status", status(1, left=2))
    assert ("chunk", 0) in tester.peekMapState("shard", 0)

    wake_up = batch(b"{}").assign(role="deferrals")
    assert written(tester.testInPandas(0, wake_up))[0] == ("m", b"area", b"x+y")
    processor._checkpoint_id += "-seen-by-nobody"
    out = written(tester.testInPandas(0, wake_up))
    assert out[0] == ("m", b"area", b"x+y+z")
    assert [each[0] for each in out] == ["m", "e", "d", "s"]
    assert out[-1] == ("s", b"status", status(3))
    assert not [kind for kind, _ in tester.peekMapState("shard", 0) if kind == "chunk"]
