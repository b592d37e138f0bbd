"""Losses are counted once, and written down as dead letters that keep their ids."""

import json
from collections.abc import Sequence

import pytest
from jsonschema import Draft202012Validator
from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry

from coincide.wire.output_record import OutputRecord
from deploy.host.machine import ROOT
from spark_jobs.recovery.losses import Losses

SCHEMA = json.loads((ROOT / "docs/contracts/dead-letters.schema.json").read_text(encoding="utf-8"))
EXPIRED = {("c.detections", 0): range(10, 14), ("c.detections", 3): range(1)}


def counted(registry: CollectorRegistry, partition: int) -> float | None:
    of = {"topic": "c.detections", "partition": str(partition)}
    return registry.get_sample_value("coincide_fusion_expired_records_total", of)


def test_a_loss_is_told_once_and_more_of_it_once_more() -> None:
    registry, letters = CollectorRegistry(), list[OutputRecord]()
    losses = Losses(registry, letters.extend)
    for _ in range(3):
        losses.tell(EXPIRED)
    assert (counted(registry, 0), counted(registry, 3), len(letters)) == (4, 1, 2)
    losses.tell({**EXPIRED, ("c.detections", 0): range(10, 20)})
    assert (counted(registry, 0), counted(registry, 3), len(letters)) == (10, 1, 3)
    told = [json.loads(letter.value or b"") for letter in letters]
    for each in told:
        Draft202012Validator(SCHEMA).validate(each)
    assert {(each["source"], each["reason"]) for each in told} == {("fusion", "expired_unread")}
    of = "records of c.detections, partition 0, before fusion had read them: offsets"
    assert told[0]["detail"] == f"Kafka deleted 4 {of} 10 to 13"
    assert told[2]["detail"] == f"Kafka deleted 6 {of} 14 to 19"


def test_another_process_tells_it_under_the_same_ids() -> None:
    letters, again = list[OutputRecord](), list[OutputRecord]()
    Losses(CollectorRegistry(), letters.extend).tell(EXPIRED)
    Losses(CollectorRegistry(), again.extend).tell(EXPIRED)
    assert letters == again


def test_what_could_not_be_written_is_told_again() -> None:
    registry, letters, away = CollectorRegistry(), list[OutputRecord](), [True]

    def write(some: Sequence[OutputRecord]) -> None:
        if away.pop() if away else False:
            raise KafkaError("away")
        letters.extend(some)

    losses = Losses(registry, write)
    with pytest.raises(KafkaError):
        losses.tell(EXPIRED)
    assert counted(registry, 0) is None
    losses.tell(EXPIRED)
    assert (counted(registry, 0), len(letters)) == (4, 2)
