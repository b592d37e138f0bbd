"""The fusion job on a real broker, told as one story: the tests run in order and share the job and its checkpoint."""

import shutil
from collections.abc import Iterator

import psutil
import pytest
import yaml

from deploy.local.broker import Broker
from deploy.local.machine import ROOT
from tests.integration.fusion_process import PUT_QUERY, FusionProcess, acoustic, fusion_job, seismic
from tests.spark_jobs.inputs import record

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def job(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FusionProcess]:
    with fusion_job(kafka.bootstrap, "line.", tmp_path_factory.mktemp("line")) as job:
        job.start_and_wait()
        yield job


def wait_for_matches(job: FusionProcess, count: int) -> None:
    """Wait for those of the first ``count`` detections; none besides may come."""
    expected = [f"seismic-{number}" for number in range(count)]
    job.until(lambda: set(expected) <= set(job.matched()))
    assert sorted(set(job.matched())) == sorted(expected)


def test_detections_become_matches(job: FusionProcess) -> None:
    job.send("queries", [PUT_QUERY])
    job.send("detections", seismic(range(30)) + acoustic(range(20)))
    wait_for_matches(job, 20)
    assert len(job.matched()) == 20


def test_malformed_frames_are_dead_letters_and_stop_nothing(job: FusionProcess) -> None:
    job.send("detections", [record(0, b"{not json", "area-0"), *acoustic(range(20, 22))])
    wait_for_matches(job, 22)
    [dead] = job.read_all("dead-letters")
    assert (dead["source"], dead["reason"]) == ("fusion", "malformed_frame")


def test_metrics_tell_what_happened(job: FusionProcess) -> None:
    job.until(lambda: job.metric("coincide_fusion_malformed_total") == 1)
    job.until(lambda: job.metric('coincide_fusion_lag_records{topic="line.detections"}') == 0)
    assert job.metric("coincide_fusion_accepted_total") == 52
    assert job.metric('coincide_fusion_matches_total{query="intruder"}') == 22
    assert job.metric('coincide_fusion_query_version{query="intruder"}') == 1
    assert job.metric("coincide_fusion_input_records_total") == 54  # 30 + 22 frames, one malformed, one query
    assert (job.metric("coincide_fusion_state_rows") or 0) >= 2
    assert job.status_of("/livez") == 200


def test_a_second_job_is_refused(job: FusionProcess) -> None:
    second = FusionProcess(job.bootstrap, job.prefix, job.folder / "second", {"lock_wait_s": 0.5})
    second.folder.mkdir()
    second.checkpoint = job.checkpoint
    second.start()
    assert second.wait() == 1
    assert f"fusion: another fusion job is running on the checkpoint {job.checkpoint}" in second.tail(1)
    assert job.is_ready()


def test_killed_it_leaves_nothing_behind_and_goes_on_from_its_state(job: FusionProcess) -> None:
    job.send("detections", acoustic(range(22, 24)))
    left = job.family()
    job.kill()
    job.start()  # at once, as a process runner does: it has to wait for the old Java process
    gone, alive = psutil.wait_procs(left, 20)
    assert alive == []
    assert len(gone) >= 3  # the job, Java, Python workers
    job.send("detections", acoustic(range(20, 30)))  # 20 to 23 once more
    wait_for_matches(job, 30)
    job.until(lambda: (job.metric("coincide_fusion_duplicates_total") or 0) == 4)
    assert job.metric('coincide_fusion_matches_total{query="intruder"}') == 30


def test_told_to_stop_it_stops_in_order(job: FusionProcess) -> None:
    job.until(job.is_ready)
    family = job.family()
    assert job.stop() == 0
    _, alive = psutil.wait_procs(family, 20)
    assert alive == []
    # Spark's own worker may say that its pipe broke, when Java ends before it.
    assert "/spark_jobs/" not in job.tail(20), "a traceback of ours"


def test_a_checkpoint_that_does_not_fit_is_not_gone_on_with(job: FusionProcess) -> None:
    job.start(shards=2)
    assert job.halted() == ("the checkpoint was made with shards 1, not 2: go back to what it was made for, or rebuild")
    assert job.stop() == 0


def test_a_state_that_cannot_be_used_is_not_gone_on_with(job: FusionProcess) -> None:
    """Only a batch reads the state, so it is Spark that reports what is wrong with it."""
    streams = job.folder / "streams.yaml"
    declared = yaml.safe_load((ROOT / "config" / "streams.yaml").read_text())
    del declared["streams"]["acoustic"]
    streams.write_text(yaml.safe_dump(declared))
    job.send("detections", seismic(range(30, 31)))
    job.start(streams_path=str(streams))
    assert job.halted().startswith("the state was made with stream 'acoustic' declared with max_delay_s")
    assert job.metric('coincide_fusion_halted{reason="checkpoint_unfit"}') == 1
    assert job.stop() == 0


def test_a_lost_checkpoint_waits_for_a_person(job: FusionProcess) -> None:
    shutil.rmtree(job.checkpoint)
    job.start()
    assert job.halted() == "the checkpoint is gone, yet there are matches: put it back, or rebuild"
    assert f"halted: the checkpoint is gone, yet there are matches: put it back, or rebuild ({job.checkpoint})" in (
        job.tail(3)
    )
    assert job.stop() == 0


def test_a_rebuild_gives_the_same_matches(job: FusionProcess) -> None:
    before = job.read_all("matches")
    job.start_and_wait("--rebuild")
    job.until(lambda: len(job.matched()) >= len(before) + 30)
    assert {match["id"] for match in job.read_all("matches")} == {match["id"] for match in before}


def test_one_that_was_asked_for_reads_in_bulk_and_then_goes_on(job: FusionProcess) -> None:
    before = job.read_all("matches")
    assert job.stop() == 0
    job.start("--ask-for-rebuild")
    assert job.wait() == 0
    job.start(max_offsets_per_trigger=5)  # so that what waits is many batches
    job.until(lambda: len(job.matched()) >= len(before) + 30)
    assert "catching up, up to" in job.tail()
    assert {match["id"] for match in job.read_all("matches")} == {match["id"] for match in before}
    job.send("detections", seismic(range(40, 42)) + acoustic(range(40, 42)))
    job.until(lambda: "seismic-41" in job.matched())
    assert job.stop() == 0
    job.start_and_wait()  # it was asked for once, so there is nothing to find again
    job.send("detections", seismic(range(42, 43)) + acoustic(range(42, 43)))
    job.until(lambda: "seismic-42" in job.matched())
    assert job.matched().count("seismic-41") == 1


def test_without_its_java_process_it_ends(job: FusionProcess) -> None:
    """The process runner starts it again; a Python process alone could do nothing."""
    [java] = [member for member in job.family() if member.name() == "java"]
    java.kill()
    assert job.wait() == 1
    assert "fusion: Spark's Java process or its cluster is gone" in job.tail(3)
