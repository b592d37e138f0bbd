"""GrowthNote: a file in the folder of a line, which says that a copy of its log has begun, and into what."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from services.common.log.faults import LogError

NOTE = "growth.json"


class GrowthNote(Struct, frozen=True):
    """A copy from one log to another; the target's topics are those of these ids."""

    source: str
    target: str
    topic_ids: dict[str, str]
    is_complete: bool = False

    def write(self, folder: Path) -> None:
        """Leave it in the folder, on the disk."""
        fresh = folder / f"{NOTE}.fresh"
        with fresh.open("wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(self)))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / NOTE)

    @classmethod
    def read(cls, folder: Path) -> GrowthNote | None:
        """Return what the folder says; None where it says nothing. A `LogError`: it cannot be read."""
        try:
            return msgspec.json.decode((folder / NOTE).read_bytes(), type=cls)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise LogError(f"{folder / NOTE} cannot be read: {error}") from error

    @staticmethod
    def forget(folder: Path) -> None:
        """Delete it."""
        (folder / NOTE).unlink(missing_ok=True)
