"""Faults that fusion cannot mend alone, on a real broker: it stays up, says why, and waits.

All tests share one job. Each finds it at work, whatever the one before has left, and detects what nobody did before.
"""

import itertools
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from deploy.host.machine import ROOT
from deploy.host.patience import suspend
from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin
from services.common.kafka.connection import KafkaConnection
from spark_jobs.recovery.checkpoint import ask_for_rebuild
from tests.coincide.fusion.inputs import record
from tests.integration.fusion_process import (
    PUT_QUERY,
    READY_BUDGET_S,
    FusionProcess,
    acoustic,
    fusion_job,
    seismic,
)
from tests.integration.topics import create_declared_topics, expire

pytestmark = [pytest.mark.jvm, pytest.mark.night]

IMPATIENT = {"kafka_timeout_s": 3.0, "restart_delay_s": 0.5, "restart_delay_max_s": 2.0}


_times = itertools.count()


@pytest.fixture(scope="module")
def shared(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FusionProcess]:
    with fusion_job(kafka.bootstrap, "halts.", tmp_path_factory.mktemp("halts"), **IMPATIENT) as job:
        job.start_and_wait()
        job.send("queries", [PUT_QUERY])
        yield job


@pytest.fixture
def job(shared: FusionProcess) -> FusionProcess:
    """The job at work: it is ready, has committed a batch, and still finds matches."""
    create_declared_topics(shared.bootstrap, shared.prefix)
    if not shared.is_running():
        shared.start()
    shared.until(lambda: shared.is_ready() or shared.is_halted(), READY_BUDGET_S)
    if shared.is_halted():
        ask_for_rebuild(shared.checkpoint)
        shared.until(shared.is_ready, READY_BUDGET_S)
    until_matched(shared, send_pairs(shared, later(4)))
    return shared


def later(count: int) -> list[int]:
    """Return numbers of detections that are later than all before."""
    return list(itertools.islice(_times, count))


def send_pairs(job: FusionProcess, numbers: list[int]) -> list[int]:
    """Send what gives a match for each number; return the numbers."""
    job.send("detections", seismic(numbers) + acoustic(numbers))
    return numbers


def until_matched(job: FusionProcess, numbers: list[int]) -> None:
    """Wait for the matches of these numbers."""
    job.until(lambda: {f"seismic-{number}" for number in numbers} <= set(job.matched()))


def delete(job: FusionProcess, topic: str) -> None:
    admin = create_admin(KafkaConnection(servers=job.bootstrap))
    admin.delete_topics([job.prefix + topic])
    admin.close()


def lost(job: FusionProcess) -> float:
    """Return how many records its metrics call lost."""
    names = (f'coincide_fusion_expired_records_total{{partition="{n}",topic="halts.detections"}}' for n in range(8))
    return sum(job.metric(name) or 0 for name in names)


def letters_of(job: FusionProcess) -> dict[str, dict[str, Any]]:
    """Return its dead letters by their ids."""
    return {letter["dead_id"]: letter for letter in job.read_all("dead-letters")}


def test_a_damaged_state_waits_for_a_rebuild_and_needs_no_restart(job: FusionProcess) -> None:
    numbers = later(5)
    job.send("detections", seismic(numbers))
    assert job.stop() == 0
    for changelog in job.checkpoint.glob("*/state/**/*.changelog"):
        changelog.write_bytes(changelog.read_bytes()[:7])
    job.send("detections", acoustic(numbers))
    job.start()
    assert job.halted().startswith("the checkpoint is damaged (")
    assert job.metric('coincide_fusion_halted{reason="checkpoint_damaged"}') == 1
    before = job.process.pid
    ask_for_rebuild(job.checkpoint)
    until_matched(job, numbers)
    job.until(job.is_ready)
    assert job.metric('coincide_fusion_halted{reason="checkpoint_damaged"}') == 0
    assert job.process.pid == before


def test_a_checkpoint_that_is_deleted_while_it_works_waits_for_a_rebuild(job: FusionProcess) -> None:
    shutil.rmtree(job.checkpoint)
    assert job.halted() == "the checkpoint was deleted while fusion used it: put it back, or rebuild"
    assert job.metric('coincide_fusion_halted{reason="checkpoint_lost"}') == 1
    ask_for_rebuild(job.checkpoint)
    job.until(job.is_ready)


def test_where_a_topic_is_missing_it_goes_on_once_it_is_there(job: FusionProcess) -> None:
    """Notes to itself that expire meanwhile are no fault: Kafka keeps them for an hour only."""
    delete(job, "matches")
    numbers = send_pairs(job, later(3))
    assert "(halts.matches)" in job.halted()
    job.send("deferrals", [record(0, b"{}", "0")])
    expire(job.bootstrap, job.prefix + "deferrals")
    create_declared_topics(job.bootstrap, job.prefix)
    until_matched(job, numbers)
    job.until(job.is_ready)


def test_records_that_expired_unread_are_counted_and_wait_for_a_rebuild(job: FusionProcess) -> None:
    lost_before, letters_before = lost(job), letters_of(job)
    [java] = [each for each in job.process.children() if each.name() == "java"]  # which reads for all others
    try:
        suspend(java)
        job.send("detections", acoustic(later(5)))
        expire(job.bootstrap, job.prefix + "detections")
    finally:
        java.resume()
    said = job.halted()
    assert said.startswith("Kafka deleted 5 records (")
    assert said.endswith(") before fusion had read them: rebuild")
    job.until(lambda: lost(job) == lost_before + 5)
    letters = [letter for id_, letter in letters_of(job).items() if id_ not in letters_before]
    assert {letter["reason"] for letter in letters} == {"expired_unread"}
    assert all("of halts.detections, partition" in letter["detail"] for letter in letters)
    ask_for_rebuild(job.checkpoint)
    job.until(job.is_ready)
    until_matched(job, send_pairs(job, later(2)))


def test_a_replaced_topic_waits_for_a_rebuild(job: FusionProcess) -> None:
    assert job.stop() == 0
    delete(job, "detections")
    create_declared_topics(job.bootstrap, job.prefix)
    job.send("detections", seismic(later(16)) * 200)  # more than were read of the old one
    job.start()
    assert job.halted().startswith("the topic halts.detections was replaced (another one has its name)")
    ask_for_rebuild(job.checkpoint)
    job.until(job.is_ready)
    until_matched(job, send_pairs(job, later(2)))


def test_another_delay_is_rebuilt_without_anybody_where_that_is_allowed(job: FusionProcess) -> None:
    known = send_pairs(job, later(2))
    until_matched(job, known)
    found = set(job.matched())
    assert job.stop() == 0
    declared = yaml.safe_load((ROOT / "config" / "streams.yaml").read_text())
    declared["streams"]["acoustic"]["max_delay_s"] += 1
    streams = job.folder / "streams.yaml"
    streams.write_text(yaml.safe_dump(declared))
    numbers = send_pairs(job, later(1))
    job.start(streams_path=str(streams), auto_rebuild=True)
    until_matched(job, numbers)
    job.until(job.is_ready)
    said = job.tail(400)
    assert "halted: the state was made with stream 'acoustic' declared with max_delay_s" in said
    assert said.count("fusion begins anew from the topics") == 1
    assert found <= set(job.matched())
    assert job.matched().count(f"seismic-{known[0]}") > 1  # found again
    assert job.stop() == 0
