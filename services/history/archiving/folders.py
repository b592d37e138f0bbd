"""Archive: how rows and templates are written into the folders of an archive, and read from them."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coincide import Histogram
from coincide.arrays.kinds import Int64Array
from services.common.settings import SettingsError
from services.history.archiving.layout import DAY_US, UNFINISHED, ArchiveFolder, sync, write_whole

ROW_ORDER = [(name, "ascending") for name in ("area", "detected_at_us", "partition", "offset", "position")]
ROWS_IN_GROUP = 131_072


class Archive(ArchiveFolder):
    """An archive of detections: its rows and templates."""

    def templates(self, ids: Collection[str] | None = None) -> dict[str, Histogram]:
        """Return templates by the id that rows name, all where no ids are given; SettingsError: one cannot be read.

        A template is written before the first row that names it. So read the list of files first, then the templates.
        """
        if ids is None:
            ids = [path.stem for path in self._templates.glob("t-*.json")]
        try:
            return {id_: Histogram.from_json(json.loads(self._template(id_).read_text())) for id_ in sorted(ids)}
        except (OSError, ValueError) as error:
            raise SettingsError(f"a template of the archive cannot be read: {error}") from None

    def write(self, rows: pa.Table, name: str) -> int:
        """Write rows into the files of this name in their folders; return how many files."""
        days, hashes = self._places(rows)
        place = days * self.area_hashes + hashes
        distinct = np.unique(place).tolist()
        for each in distinct:
            day, area_hash = divmod(each, self.area_hashes)
            write_rows(self.folder(day, area_hash) / name, rows.filter(pa.array(place == each)))
        return len(distinct)

    def write_templates(self, templates: Mapping[str, Mapping[str, object]]) -> None:
        """Write the templates that are not there yet: an id is the hash of the content, so nobody can disagree."""
        self._templates.mkdir(parents=True, exist_ok=True)
        for id_, content in templates.items():
            if not self._template(id_).exists():
                write_whole(self._template(id_), json.dumps(content).encode())

    @property
    def _templates(self) -> Path:
        return self.path / "templates"

    def _template(self, id_: str) -> Path:
        return self._templates / f"{id_}.json"

    def _places(self, rows: pa.Table) -> tuple[Int64Array, Int64Array]:
        """Return the day and the hash of each row."""
        area = rows["area"].combine_chunks().dictionary_encode()
        of_area = np.array([self.hash_of(each) for each in area.dictionary.to_pylist()], np.int64)
        return rows["detected_at_us"].to_numpy() // DAY_US, of_area[area.indices.to_numpy(zero_copy_only=False)]


def write_rows(path: Path, rows: pa.Table) -> None:
    """Write a Parquet file, sorted by area and time, under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    ordered = rows.take(pc.sort_indices(rows, sort_keys=ROW_ORDER))
    with unfinished.open("wb") as file:
        pq.write_table(ordered, file, compression="zstd", row_group_size=ROWS_IN_GROUP)
        sync(file)
    unfinished.replace(path)
