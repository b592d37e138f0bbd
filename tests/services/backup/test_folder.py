"""A backup is whole or refused: names, checksums, the format, who can read it."""

import json
import stat
from pathlib import Path

import pytest

from services.backup.folder import FORMAT, MANIFEST, BackupError, Manifest, begun, complete, opened


def made(folder: Path, text: str = "what was saved") -> Manifest:
    with begun(folder) as unfinished:
        (unfinished / "below").mkdir()
        (unfinished / "below" / "file").write_text(text, encoding="utf-8")
        assert not folder.exists() or not any(folder.iterdir())
        return complete(unfinished, folder, Manifest(FORMAT, "2026-11-24T10:00:00+00:00", "1", {}, None, False, {}))


def test_a_whole_backup_opens_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    manifest = made(folder)
    assert list(manifest.files) == ["below/file"]
    assert opened(folder) == manifest
    modes = {stat.S_IMODE(each.stat().st_mode) for each in folder.rglob("*") if each.is_file()}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [each.name for each in tmp_path.iterdir()] == ["backup"]


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_file_is_refused_by_name(damage: str, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    made(folder)
    file = folder / "below" / "file"
    if damage == "gone":
        file.unlink()
    else:
        file.write_text("what was savee" if damage == "flipped" else "what", encoding="utf-8")
    with pytest.raises(BackupError, match=r"below/file (is damaged|cannot be read)[^\n]*$"):
        opened(folder)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": FORMAT + 1}, rf"has format {FORMAT + 1}: this release reads format {FORMAT}$"),
        ({"files": {"../stolen": {"bytes": 1, "sha256": ""}}}, "no file below it$"),
        ({"topics": 3}, "is damaged: "),
    ],
)
def test_a_manifest_that_cannot_be_meant_is_refused(change: dict[str, object], sentence: str, tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    made(folder)
    content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps({**content, **change}), encoding="utf-8")
    with pytest.raises(BackupError, match=sentence):
        opened(folder)


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="there is no backup in "):
        opened(tmp_path)


def test_a_folder_with_anything_in_it_and_one_that_was_cut_short_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    made(folder)
    with pytest.raises(BackupError, match="is not empty"):
        made(folder)
    other = tmp_path / "other"
    with pytest.raises(ZeroDivisionError), begun(other):
        raise ZeroDivisionError  # as a kill does
    assert not other.exists()
    with pytest.raises(BackupError, match="cut short"):
        made(other)
