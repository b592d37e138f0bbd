"""A checkpoint is copied as it was after one batch, wherever it is put back; own files are never overwritten."""

import shutil
from pathlib import Path

import pytest
from msgspec import json

from services.backup.copies import (
    restore_checkpoint,
    restore_configuration,
    save_checkpoint,
    save_configuration,
)
from services.backup.folder import FORMAT, BackupError, Manifest, SavedCheckpoint, SavedFile
from services.common.checkpoint_folder import IDENTITY_FILE, CheckpointIdentity

IDENTITY = json.encode(CheckpointIdentity("a1", state_format=1, shards=1)).decode()


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = IDENTITY if name == IDENTITY_FILE else f"{name} file:{folder.absolute()}/state"
        (folder / name).write_text(text, encoding="utf-8")


def names_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


OF_BATCH_7 = {
    "a1/commits/6",
    "a1/commits/7",
    "a1/offsets/7",
    "a1/state/0/0/8.changelog",
    "a1/state/0/0/.8.zip.crc",
    "a1/state/0/0/SSTs/000009-a.sst",
    "a1/state/0/_metadata/v2/7",
    "a1/state/0/_metadata/v2/.7.crc",
    "coincide.json",
}
LATER = {
    "a1/offsets/8",
    "a1/state/0/0/9.changelog",
    "a1/state/0/_metadata/v2/8",
    "a1/offsets/.8.crc",
    "a1/offsets/.8.1-2.tmp",
}
OF_THIS_KAFKA = {"a1/topics.json"}
OF_A_REBUILD_BEFORE = {"b2/commits/99", "b2/state/0/0/100.zip"}


def test_what_a_later_batch_has_begun_is_left_out(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint", *OF_BATCH_7, *LATER, *OF_THIS_KAFKA, *OF_A_REBUILD_BEFORE)
    saved = save_checkpoint(tmp_path / "checkpoint", tmp_path / "copy")
    assert saved == SavedCheckpoint(7, str(tmp_path / "checkpoint"))
    assert names_below(tmp_path / "copy") == OF_BATCH_7


def test_where_no_batch_was_committed_there_is_nothing_to_copy(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint", "a1/offsets/0", "coincide.json")
    assert save_checkpoint(tmp_path / "checkpoint", tmp_path / "copy") is None
    assert save_checkpoint(tmp_path / "nowhere", tmp_path / "copy") is None


@pytest.mark.parametrize("identity", ["{", '{"id": "a1"}', '{"id": 1, "state_format": 1, "shards": 1}'])
def test_a_checkpoint_from_which_fusion_would_not_go_on_is_not_copied(tmp_path: Path, identity: str) -> None:
    write(tmp_path / "checkpoint", *OF_BATCH_7)
    (tmp_path / "checkpoint" / IDENTITY_FILE).write_text(identity)
    assert save_checkpoint(tmp_path / "checkpoint", tmp_path / "copy") is None


def test_a_batch_whose_files_spark_has_deleted_meanwhile_is_copied_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = tmp_path / "checkpoint"
    write(checkpoint, *OF_BATCH_7)
    copied = shutil.copyfile

    def copy_slowly(source: Path, target: Path) -> object:
        write(checkpoint, "a1/commits/28")
        (checkpoint / "a1/commits/7").unlink(missing_ok=True)
        return copied(source, target)

    monkeypatch.setattr(shutil, "copyfile", copy_slowly)
    saved = save_checkpoint(checkpoint, tmp_path / "copy")
    assert saved is not None
    assert saved.batch == 28
    assert "a1/commits/28" in names_below(tmp_path / "copy")


def test_a_checkpoint_that_is_put_elsewhere_names_its_new_place(tmp_path: Path) -> None:
    write(tmp_path / "checkpoint", *OF_BATCH_7)
    saved = save_checkpoint(tmp_path / "checkpoint", tmp_path / "copy")
    assert saved is not None
    restore_checkpoint(tmp_path / "copy", saved, tmp_path / "elsewhere")
    told = (tmp_path / "elsewhere/a1/state/0/_metadata/v2/7").read_text(encoding="utf-8")
    assert told.endswith(f"file:{tmp_path}/elsewhere/state")
    assert names_below(tmp_path / "elsewhere") == OF_BATCH_7 - {"a1/state/0/_metadata/v2/.7.crc"}


def manifest_of(folder: Path) -> Manifest:
    files = {f"config/{name}": SavedFile(0, "") for name in names_below(folder / "config")}
    return Manifest(FORMAT, "", "", {}, None, False, files)


def test_own_files_come_back_and_overwrite_none(tmp_path: Path) -> None:
    own, backup, other = (tmp_path / name for name in ("own", "backup", "other"))
    write(own, "sensors.yaml", "tls/key.pem", ".git/config")
    save_configuration(own, backup / "config")
    other.mkdir()
    restore_configuration(backup, manifest_of(backup), other)
    assert names_below(other) == {"sensors.yaml", "tls/key.pem"}
    assert (other / "sensors.yaml").read_bytes() == (own / "sensors.yaml").read_bytes()
    restore_configuration(backup, manifest_of(backup), other)  # they are the same now
    (other / "sensors.yaml").write_text("another", encoding="utf-8")
    (other / "tls/key.pem").unlink()
    with pytest.raises(BackupError, match=r"sensors\.yaml is not the file that the backup has"):
        restore_configuration(backup, manifest_of(backup), other)
    assert names_below(other) == {"sensors.yaml"}, "nothing is written where something is refused"
    with pytest.raises(BackupError, match="set it to the folder"):
        restore_configuration(backup, manifest_of(backup), None)


def test_a_folder_that_is_no_configuration_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "home", *map(str, range(1001)))
    with pytest.raises(BackupError, match="has more than 1000 files"):
        save_configuration(tmp_path / "home", tmp_path / "copy")
