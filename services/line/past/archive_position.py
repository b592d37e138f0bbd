"""How far the archive of a line has the detections of its log: one small file beside the rows."""

from pathlib import Path

from msgspec import Struct, json

from services.common.settings import SettingsError
from services.history.archiving.layout import POSITION


class ArchivePosition(Struct, frozen=True):
    """How far the archive has the detections of which topic, and the number of the batch that comes next."""

    topic_id: str
    next_batch: int
    offsets: dict[int, int]


def read_position(folder: Path) -> ArchivePosition | None:
    """Return what stands in the folder of an archive; None where nothing was archived."""
    try:
        return json.decode((folder / POSITION).read_bytes(), type=ArchivePosition)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise SettingsError(f"{folder / POSITION} cannot be read: {error}") from error
