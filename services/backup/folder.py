"""A backup: a folder whose manifest is written last and says how long each file is, and what its SHA-256 is."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

FORMAT = 1  # raise it with every change that an older release cannot read
MANIFEST = "manifest.json"
UNFINISHED = ".unfinished"
_PIECE_BYTES = 2**20


class BackupError(Exception):
    """A backup cannot be made or restored; the message is one sentence for the operator."""


class SavedFile(Struct, frozen=True):
    """What a file of the backup must be."""

    bytes: int
    sha256: str


class SavedPartition(Struct, frozen=True):
    """The records of a partition: offsets in [begin, end), of which compaction may have left some out."""

    begin: int
    end: int
    records: int


class SavedCheckpoint(Struct, frozen=True):
    """Fusion's checkpoint after a batch that was committed, and where it lay: Spark writes that into it."""

    batch: int
    path: str


class Manifest(Struct, frozen=True):
    """What is in a backup."""

    format: int
    created_at: str  # RFC 3339
    release: str
    topics: dict[str, list[SavedPartition]]
    checkpoint: SavedCheckpoint | None
    has_database: bool
    files: dict[str, SavedFile]  # by path below the folder


class _Format(Struct):
    format: int


@contextmanager
def begun(folder: Path) -> Iterator[Path]:
    """Yield a new folder to fill, beside ``folder``, whose files only their owner can read; `complete` ends it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BackupError(f"{folder} is not empty: name a folder that does not exist yet")
    absolute = folder.absolute()
    unfinished = absolute.with_name(absolute.name + UNFINISHED)
    others = os.umask(0o077)  # a backup holds receivers' secrets and the hashes of keys
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
    except FileExistsError as error:
        raise BackupError(
            f"{unfinished} is left of a backup that was cut short, or still under way: delete it"
        ) from error
    except OSError as error:
        raise BackupError(f"{error.filename or unfinished} cannot be written: {error.strerror}") from error
    finally:
        os.umask(others)


def complete(unfinished: Path, folder: Path, manifest: Manifest) -> Manifest:
    """Write the manifest with all files that are there, and give the folder its name; return the manifest."""
    files = {path.relative_to(unfinished).as_posix(): _described(path) for path in files_below(unfinished)}
    manifest = msgspec.structs.replace(manifest, files=files)
    written = unfinished / MANIFEST
    with written.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1))
        file.flush()
        os.fsync(file.fileno())
    if folder.exists():
        folder.rmdir()
    unfinished.rename(folder)
    return manifest


def opened(folder: Path) -> Manifest:
    """Return the manifest of the backup in ``folder`` after every file was found to be what it must be."""
    manifest = _manifest(folder)
    for name, saved in manifest.files.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise BackupError(f"{folder / MANIFEST} names {name!r}, which is no file below it")
        try:
            found = _described(folder / name)
        except OSError as error:
            raise BackupError(f"{folder / name} cannot be read: {error.strerror}") from error
        if found != saved:
            raise BackupError(f"{folder / name} is damaged: it is not the file of which the manifest has the SHA-256")
    return manifest


def in_words(manifest: Manifest) -> str:
    """Return what is in a backup, in one sentence."""
    records = sum(each.records for partitions in manifest.topics.values() for each in partitions)
    parts = ["the database"] if manifest.has_database else []
    parts += ["the checkpoint"] if manifest.checkpoint else []
    mib = sum(each.bytes for each in manifest.files.values()) / 2**20
    also = "".join(f", {each}" for each in parts)
    return f"Backup of {manifest.created_at}: {records} records of {len(manifest.topics)} topics{also}; {mib:.1f} MiB."


def _manifest(folder: Path) -> Manifest:
    try:
        content = (folder / MANIFEST).read_bytes()
        written_in = msgspec.json.decode(content, type=_Format).format
        if written_in != FORMAT:
            raise BackupError(f"the backup in {folder} has format {written_in}: this release reads format {FORMAT}")
        return msgspec.json.decode(content, type=Manifest)
    except OSError as error:
        raise BackupError(f"there is no backup in {folder}: {MANIFEST} cannot be read ({error.strerror})") from error
    except msgspec.MsgspecError as error:
        raise BackupError(f"{folder / MANIFEST} is damaged: {error}") from error


def files_below(folder: Path) -> list[Path]:
    """Return every file below a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _described(path: Path) -> SavedFile:
    """Return what a file is, once it is on the disk."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
        os.fsync(file.fileno())
        return SavedFile(file.tell(), digest.hexdigest())
