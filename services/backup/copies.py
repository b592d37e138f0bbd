"""Copies of files: fusion's checkpoint after a batch that was committed, and the files of `COINCIDE_CONFIG`."""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from services.backup.folder import BackupError, Manifest, SavedCheckpoint, files_below
from services.common.checkpoint_folder import (
    IDENTITY_FILE,
    IDS_FILE,
    UNREADABLE,
    newest_batch,
    read_identity,
    spark_folder,
)

_TRIES = 5
_MOST_FILES, _MOST_BYTES = 1_000, 64 * 2**20  # of one's own configuration
#: Files that Spark names after a batch, or after the version of the state that a batch has begun with.
_OF_BATCH = re.compile(r"\.?(\d+)(\.(?:zip|changelog|delta|snapshot))?(?:\.crc)?")


def save_checkpoint(checkpoint: Path, copy: Path) -> SavedCheckpoint | None:
    """Copy the checkpoint as it was after its newest batch; None where no batch was ever committed.

    Spark writes no file twice, and keeps those of the last batches. So files that later batches write are left out,
    and where Spark has deleted those of this batch meanwhile, all is copied again.
    """
    for _ in range(_TRIES):
        batch = newest_batch((spark := _spark_folder(checkpoint)) / "commits")
        if batch is None:
            return None
        shutil.rmtree(copy, ignore_errors=True)
        for file in [checkpoint / IDENTITY_FILE, *files_below(spark)]:
            if not _is_later(file.name, batch) and not file.name.endswith((".tmp", IDS_FILE)):
                with suppress(FileNotFoundError):  # it was of a batch long ago, or the loop begins again
                    _copy(file, copy / file.relative_to(checkpoint))
        if (spark / "commits" / str(batch)).exists():
            return SavedCheckpoint(batch, str(checkpoint.absolute()))
    raise BackupError(
        f"the checkpoint in {checkpoint} changes faster than it can be copied: try again at a quieter time"
    )


def _spark_folder(checkpoint: Path) -> Path:
    """Return where Spark keeps the checkpoint that is in use; what a rebuild has left behind lies beside it."""
    with suppress(*UNREADABLE):
        return spark_folder(checkpoint, read_identity(checkpoint).id)
    return checkpoint / "none"


def _is_later(name: str, batch: int) -> bool:
    found = _OF_BATCH.fullmatch(name)
    return found is not None and int(found[1]) > (batch if found[2] is None else batch + 1)


def restore_checkpoint(copy: Path, saved: SavedCheckpoint, checkpoint: Path) -> None:
    """Put the checkpoint back, wherever it lay."""
    unfinished = checkpoint.with_name(checkpoint.name + ".unfinished")
    shutil.copytree(copy, unfinished)
    was, now = f"file:{saved.path}/", f"file:{checkpoint.absolute()}/"
    for file in unfinished.glob("*/state/*/_metadata/v2/[0-9]*"):  # the one place where Spark writes its own path
        text = file.read_text(encoding="utf-8")
        if was != now and was in text:
            file.write_text(text.replace(was, now), encoding="utf-8")
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)  # Spark does without
    unfinished.rename(checkpoint)


def save_configuration(own: Path, copy: Path) -> None:
    """Copy the files of somebody's own configuration."""
    files = [file for file in files_below(own) if not any(part.startswith(".") for part in file.relative_to(own).parts)]
    if len(files) > _MOST_FILES or sum(file.stat().st_size for file in files) > _MOST_BYTES:
        raise BackupError(
            f"COINCIDE_CONFIG, {own}, has more than {_MOST_FILES} files or 64 MiB: is it the right folder?"
        )
    for file in files:
        _copy(file, copy / file.relative_to(own))


def restore_configuration(folder: Path, manifest: Manifest, own: Path | None) -> None:
    """Put the files of somebody's own configuration into ``own``; a file that is there already must be the same."""
    names = [name.removeprefix("config/") for name in manifest.files if name.startswith("config/")]
    if not names:
        return
    if own is None:
        raise BackupError("the backup has files of COINCIDE_CONFIG: set it to the folder that is to have them")
    for name in names:
        saved, file = folder / "config" / name, own / name
        if file.exists() and file.read_bytes() != saved.read_bytes():
            raise BackupError(f"{file} is not the file that the backup has: move it away, or copy it from {saved}")
    for name in names:
        file = own / name
        if not file.exists():
            _copy(folder / "config" / name, file)
            file.chmod(0o600)


def _copy(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
