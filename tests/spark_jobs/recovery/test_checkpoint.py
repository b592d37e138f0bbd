"""The checkpoint: made once, and refused where it does not fit or is damaged."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from coincide.fusion.saving.state_format import FORMAT
from services.common.checkpoint_folder import IDENTITY_FILE, spark_folder
from spark_jobs.recovery.checkpoint import (
    CheckpointPurpose,
    committed_offsets,
    lost_checkpoint,
    offsets_of,
    open_checkpoint,
    refuse_damaged_logs,
)
from spark_jobs.recovery.halt import Halt

DECLARED = CheckpointPurpose(shards=1)

never_asked = Mock(side_effect=AssertionError("nobody may ask Kafka here"))


def reopen(folder: Path, declared: CheckpointPurpose = DECLARED) -> str:
    return open_checkpoint(folder, declared, rebuild=False, has_matches=never_asked)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoint"
    open_checkpoint(folder, DECLARED, rebuild=False, has_matches=lambda: False)
    (spark_folder(folder, reopen(folder)) / "offsets").mkdir()
    return folder


@pytest.fixture
def spark(folder: Path) -> Path:
    return spark_folder(folder, reopen(folder))


def test_a_restart_finds_the_same_checkpoint(folder: Path) -> None:
    assert reopen(folder) == reopen(folder) == json.loads((folder / IDENTITY_FILE).read_text())["id"]


def test_a_lost_checkpoint_is_refused_when_there_are_matches(tmp_path: Path) -> None:
    with pytest.raises(Halt, match=r"^the checkpoint is gone, yet there are matches: put it back, or rebuild$"):
        open_checkpoint(tmp_path / "new", DECLARED, rebuild=False, has_matches=lambda: True)
    assert not (tmp_path / "new").exists()


def test_a_checkpoint_that_is_deleted_under_a_job_is_noticed(folder: Path) -> None:
    """Whether or not Spark writes on into a folder of the same name."""
    assert lost_checkpoint(folder) is None
    (folder / IDENTITY_FILE).unlink()
    halt = lost_checkpoint(folder)
    assert halt is not None
    assert (halt.reason, str(halt)) == (
        "checkpoint_lost",
        "the checkpoint was deleted while fusion used it: put it back, or rebuild",
    )


def test_a_rebuild_begins_anew_in_another_folder(folder: Path, spark: Path) -> None:
    checkpoint_id = open_checkpoint(folder, DECLARED, rebuild=True, has_matches=never_asked)
    assert spark_folder(folder, checkpoint_id) != spark
    assert not spark.exists()
    assert reopen(folder) == checkpoint_id


def test_what_is_written_for_the_checkpoint_before_is_in_nobodys_way(folder: Path, spark: Path) -> None:
    """Spark's maintenance ends a minute after its query, and makes the folders that it needs."""
    checkpoint_id = open_checkpoint(folder, DECLARED, rebuild=True, has_matches=never_asked)
    (spark / "state/0/0").mkdir(parents=True)
    (spark / "state/0/0/17.zip").touch()
    refuse_damaged_logs(spark_folder(folder, checkpoint_id))
    assert offsets_of(folder) == {}
    assert reopen(folder) == checkpoint_id
    assert not spark.exists()


def test_a_checkpoint_that_cannot_be_deleted_is_left_behind(
    folder: Path, spark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.rmdir", Mock(side_effect=PermissionError(13, "Permission denied")))
    assert open_checkpoint(folder, DECLARED, rebuild=True, has_matches=never_asked) != spark.name
    assert spark.exists()


def test_an_identity_without_its_folder_is_damage(folder: Path, spark: Path) -> None:
    shutil.rmtree(spark)
    with pytest.raises(Halt, match=f"damaged .it has no folder {spark.name}"):
        reopen(folder)


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (replace(DECLARED, shards=2), "was made with shards 1, not 2"),
        (replace(DECLARED, state_format=99), f"was made with state_format {FORMAT}, not 99"),
    ],
)
def test_another_declaration_is_refused(folder: Path, declared: CheckpointPurpose, sentence: str) -> None:
    with pytest.raises(Halt, match=sentence):
        reopen(folder, declared)


def test_a_checkpoint_of_something_else_is_refused(folder: Path) -> None:
    (folder / IDENTITY_FILE).unlink()
    with pytest.raises(Halt, match=r"damaged \(it has no coincide.json, or is of another job\)"):
        reopen(folder)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"id": "x"}', '{"id": 1, "state_format": 1, "shards": 1}', "\x00", "[" * 20_000]
)
def test_an_unreadable_identity_is_refused(folder: Path, text: str) -> None:
    (folder / IDENTITY_FILE).write_text(text)
    with pytest.raises(Halt, match="cannot be read"):
        reopen(folder)


def written_batch(spark: Path, number: int, *sources: str) -> None:
    """Write a batch's offsets as Spark does."""
    (spark / "offsets").mkdir(exist_ok=True)
    (spark / "offsets" / str(number)).write_text("\n".join(["v1", '{"batchWatermarkMs":0}', *sources]))


def commit(spark: Path, number: int) -> None:
    (spark / "commits").mkdir(exist_ok=True)
    (spark / "commits" / str(number)).write_text("v1\n{}")
    (spark / "commits" / f".{number}.crc").write_text("")


def test_what_is_processed_is_what_the_last_committed_batch_read(folder: Path, spark: Path) -> None:
    assert committed_offsets(spark) == {}
    for number in (9, 10):
        written_batch(spark, number, f'{{"detections":{{"0":{number},"1":3}}}}', '{"queries":{"0":1}}')
        commit(spark, number)
    written_batch(spark, 11, '{"detections":{"0":99}}', "-")
    assert committed_offsets(spark) == {"detections": {"0": 10, "1": 3}, "queries": {"0": 1}}
    commit(spark, 11)
    assert committed_offsets(spark) == offsets_of(folder) == {"detections": {"0": 99}}


@pytest.mark.parametrize("source", ["{", "[1]", '{"detections":7}'])
def test_offsets_that_nobody_understands_are_unknown(spark: Path, source: str) -> None:
    commit(spark, 0)
    assert committed_offsets(spark) is None
    written_batch(spark, 0, source)
    assert committed_offsets(spark) is None


def test_whole_logs_are_no_fault_nor_are_none(spark: Path) -> None:
    refuse_damaged_logs(spark)
    for number in (9, 10):
        written_batch(spark, number, '{"detections":{"0":1}}', "-")
    commit(spark, 9)
    (spark / "state").mkdir()
    refuse_damaged_logs(spark)  # batch 10 was planned, and nobody knows how far it came


@pytest.mark.parametrize("log", ["offsets", "commits"])
@pytest.mark.parametrize("left", ["", "v1", 'v1\n{"batchWat', "v1\n" + "[" * 20_000])
def test_a_truncated_log_is_damage(spark: Path, log: str, left: str) -> None:
    for number in (9, 10):
        written_batch(spark, number, '{"detections":{"0":1}}')
        commit(spark, number)
    (spark / log / "10").write_text(left)
    with pytest.raises(Halt, match=r"^the checkpoint is damaged \(its newest .* cannot be read\)") as refused:
        refuse_damaged_logs(spark)
    assert refused.value.reason == "checkpoint_damaged"
    assert str(spark) not in str(refused.value)
    assert str(spark) in refused.value.detail


def test_logs_that_are_gone_are_damage(spark: Path) -> None:
    (spark / "state").mkdir()
    with pytest.raises(Halt, match="it has a state, and no planned batches"):
        refuse_damaged_logs(spark)
    commit(spark, 9)
    with pytest.raises(Halt, match="the offsets of its newest committed batch cannot be read"):
        refuse_damaged_logs(spark)
