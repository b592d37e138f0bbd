"""Layout: where the rows of an archive lie, which of its files count, and how a file gets its name.

Rows lie in ``<archive>/detections/day=2026-11-22/area_hash=3/*.parquet``. The day is that of `detected_at_us` in UTC,
and the hash is that of the area, so that all rows of an area and a day lie in one folder. Templates lie in
``<archive>/templates/ID.json``.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Self
from uuid import uuid4

from services.common.settings import SettingsError
from services.history.archiving.file_names import FileName, counting, files_in

DAY_US = 86_400_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
UNFINISHED = ".writing"
VERSION = 1
IDENTITY = "archive.json"
POSITION = "_position.json"  # where a line in one process notes how far it has come; Spark has a checkpoint


def is_archive(path: Path) -> bool:
    """Whether an archive of detections lies in a folder."""
    return (path / IDENTITY).exists()


@dataclass(frozen=True)
class ArchiveFolder:
    """Where the files of an archive of detections lie below `path`, a folder that every worker sees."""

    path: Path
    area_hashes: int

    @classmethod
    def opened(cls, path: Path, area_hashes: int | None = None) -> Self:
        """Return the archive at `path`; make it where there is none and `area_hashes` is given.

        SettingsError: there is none, or it was made with another number of hashes, which is fixed for its life.
        """
        identity = path / IDENTITY
        if not is_archive(path):
            if area_hashes is None:
                raise SettingsError(f"there is no archive in {path}: archive.json is missing")
            path.mkdir(parents=True, exist_ok=True)
            write_whole(identity, json.dumps({"v": VERSION, "area_hashes": area_hashes}).encode())
        try:
            written = json.loads(identity.read_text(encoding="utf-8"))
            made_with = int(written["area_hashes"])
            version = int(written["v"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SettingsError(f"{identity} cannot be read ({error!r})") from error
        if version != VERSION:
            raise SettingsError(f"the archive in {path} has version {version}: this job reads version {VERSION}")
        if area_hashes not in (None, made_with):
            raise SettingsError(f"the archive in {path} was made with area_hashes {made_with}, not {area_hashes}")
        return cls(path.absolute(), made_with)  # workers have a working folder of their own

    @property
    def checkpoint(self) -> Path:
        """Where Spark notes which offsets are in the archive; with the rows, as neither is of use without the other."""
        return self.path / "_checkpoint"

    @property
    def detections(self) -> Path:
        """The folder of the rows."""
        return self.path / "detections"

    def folder(self, day: int, area_hash: int) -> Path:
        """Return the folder of a day, counted from 1970, and a hash."""
        return self.detections / f"day={_EPOCH + timedelta(days=day):%Y-%m-%d}" / f"area_hash={area_hash}"

    def folders(self) -> Iterator[Path]:
        """Yield every folder with files, in order."""
        yield from sorted(self.detections.glob("day=*/area_hash=*"))

    def files(self, first_day: date = date.min, last_day: date = date.max) -> list[Path]:
        """Return the files that count of these days, both included; the days are those of UTC."""
        of_days = (each for each in self.folders() if first_day <= date.fromisoformat(day_of(each)) <= last_day)
        return [folder / file.name for folder in of_days for file in counting_files(folder)]

    def counting(self, area_hash: int, from_us: int, to_us: int) -> Iterator[tuple[int, FileName]]:
        """Yield the files that count of a hash which may have rows in [from_us, to_us), each after its day."""
        for day in range(from_us // DAY_US, (to_us - 1) // DAY_US + 1):
            yield from ((day, file) for file in counting_files(self.folder(day, area_hash)))

    def state_of(self, from_us: int, to_us: int) -> str:
        """Return a name for what there is of [from_us, to_us): as long as it stays the same, so do the rows."""
        hashes = range(self.area_hashes)
        files = ((each, day, file.name) for each in hashes for day, file in self.counting(each, from_us, to_us))
        return hashlib.sha256(json.dumps([*files]).encode()).hexdigest()[:16]

    def hash_of(self, area: str) -> int:
        """Return the hash of an area.

        Examples
        --------
        >>> Archive(Path("a"), 16).hash_of("harbour")
        6
        """
        return zlib.crc32(area.encode()) % self.area_hashes


def day_of(folder: Path) -> str:
    """Return the day of a folder, as 2026-11-22."""
    return folder.parent.name.removeprefix("day=")


def counting_files(folder: Path) -> list[FileName]:
    """Return the files of a folder that count; none where it does not exist."""
    return counting(files_in(each.name for each in _listed(folder)))


def sweep(folder: Path, next_batch: int) -> int:
    """Delete what a crash has left: unfinished files, superseded ones, and those of batches that were never committed.

    Those are the batches from `next_batch` on: they are written again. Return how many files were deleted.
    """
    listed = _listed(folder)
    unfinished = [each.name for each in listed if each.name.endswith(UNFINISHED)]
    files = files_in(each.name for each in listed)
    counts = {file.name for file in counting(files) if file.first < next_batch}
    gone = [*unfinished, *(file.name for file in files if file.name not in counts)]
    for name in gone:
        with suppress(FileNotFoundError):
            (folder / name).unlink()
    return len(gone)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under its name only when it is complete; several may write the same at once."""
    with written_whole(path) as file:
        file.write(content)
        sync(file)


def sync(file: BinaryIO) -> None:
    """Let what a file has be on the disk before its name is there."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def written_whole(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that has its name only once the block has ended well; several may write the same at once."""
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}{UNFINISHED}")
    try:
        with unfinished.open("wb") as file:
            yield file
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
