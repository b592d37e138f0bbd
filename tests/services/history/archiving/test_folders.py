"""Files of the archive: which count by their names, where rows lie, and what a crash at any step leaves to be read."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram
from services.common.settings import SettingsError
from services.history.archiving.file_names import batch_file, counting, files_in, merged_file
from services.history.archiving.folders import Archive, write_rows
from services.history.archiving.frame_rows import ROW_SCHEMA
from services.history.archiving.layout import counting_files, sweep
from services.history.archiving.merging import due, merge, merge_folders

DAY_US = 86_400_000_000


def rows(numbers: range, area: str = "bay", day: int = 0) -> pa.Table:
    """Rows out of order, one a second, named by number."""
    shuffled = np.random.default_rng(7).permutation(np.array(numbers))
    content = {
        "area": [area] * len(numbers),
        "stream": ["p"] * len(numbers),
        "sensor_id": ["north"] * len(numbers),
        "id": [f"n{number}" for number in shuffled],
        "detected_at_us": shuffled * 1_000_000 + day * DAY_US,
        "received_at_us": shuffled,
        "template": ["t-0"] * len(numbers),
        "place": [None] * len(numbers),
        "attributes": ["{}"] * len(numbers),
        "partition": np.zeros(len(numbers), np.int32),
        "offset": shuffled,
        "position": np.zeros(len(numbers), np.int32),
    }
    return pa.table(content, schema=ROW_SCHEMA)


def read(folder: Path) -> list[str]:
    """Ids of all rows of a folder, by the law of names."""
    return [
        id_ for file in counting_files(folder) for id_ in pq.ParquetFile(folder / file.name).read()["id"].to_pylist()
    ]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), max_size=4), st.sets(st.integers(0, 12)))
def test_each_batch_counts_once_where_merged_files_are_nested(spans: list[tuple[int, int]], batches: set[int]) -> None:
    nested = list(dict.fromkeys((first, first + length) for first, length in spans))
    nested = [one for nth, one in enumerate(nested) if all(_fit(one, other) for other in nested[:nth])]
    files = files_in([*(merged_file(*each) for each in nested), *(batch_file(each, 0, 0) for each in batches)])
    counts = counting(files)
    for batch in range(14):
        holders = [file for file in counts if file.first <= batch < file.stop]
        is_there = batch in batches or any(first <= batch < stop for first, stop in nested)
        assert len(holders) == is_there


def _fit(one: tuple[int, int], other: tuple[int, int]) -> bool:
    apart = one[1] <= other[0] or other[1] <= one[0]
    inside = (other[0] <= one[0] and one[1] <= other[1]) or (one[0] <= other[0] and other[1] <= one[1])
    return apart or inside


def test_rows_lie_by_day_and_hash_of_the_area_and_are_sorted(tmp_path: Path) -> None:
    archive = Archive.opened(tmp_path, 4)
    areas = [f"area-{number}" for number in range(20)]
    table = pa.concat_tables([rows(range(3), area, day) for area in areas for day in (-1, 0, 20_000)])
    files = archive.write(table, batch_file(5, 2, 0))
    folders = list(archive.folders())
    assert files == len(folders) == 12
    assert {folder.parent.name for folder in folders} == {"day=1969-12-31", "day=1970-01-01", "day=2024-10-04"}
    for folder in folders:
        part = pq.ParquetFile(folder / batch_file(5, 2, 0)).read()
        assert {archive.hash_of(area) for area in part["area"].to_pylist()} == {int(folder.name.split("=")[1])}
        keys = list(zip(part["area"].to_pylist(), part["detected_at_us"].to_pylist(), strict=True))
        assert keys == sorted(keys)
    whole = ds.dataset(archive.detections, partitioning="hive").to_table()
    assert len(whole) == len(table)


def test_an_archive_keeps_its_number_of_hashes(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no archive"):
        Archive.opened(tmp_path)
    Archive.opened(tmp_path, 4)
    assert Archive.opened(tmp_path).area_hashes == 4
    with pytest.raises(SettingsError, match="made with area_hashes 4, not 8"):
        Archive.opened(tmp_path, 8)


def test_the_files_of_some_days_are_those_that_count(tmp_path: Path) -> None:
    archive = Archive.opened(tmp_path, 2)
    for batch, day in enumerate((0, 0, 1, 2)):
        archive.write(rows(range(batch, batch + 1), day=day), batch_file(batch, 0, 0))
    folder = archive.folder(0, archive.hash_of("bay"))
    write_rows(folder / merged_file(0, 2), rows(range(2)))  # a crash left the files that it replaces
    found = archive.files()
    assert [path.name for path in found] == [merged_file(0, 2), batch_file(2, 0, 0), batch_file(3, 0, 0)]
    assert all(path.is_file() for path in found)
    assert archive.files(date(1970, 1, 2), date(1970, 1, 2)) == found[1:2]
    assert archive.files(last_day=date(1970, 1, 2)) == found[:2]
    assert archive.files(date(1970, 1, 4)) == []


def test_templates_are_read_again(tmp_path: Path) -> None:
    archive = Archive.opened(tmp_path, 2)
    assert archive.templates() == {}
    written = {each.id: each for each in (Histogram.normal(sigma_s=0.3, buckets=5), Histogram.uniform(0, 1))}
    archive.write_templates({id_: each.to_json() for id_, each in written.items()})
    assert archive.templates() == written
    [one, _] = written
    assert archive.templates([one]) == {one: written[one]}
    with pytest.raises(SettingsError, match="a template of the archive cannot be read"):
        archive.templates(["t-none"])


def filled(folder: Path, batches: range) -> None:
    for batch in batches:
        write_rows(folder / batch_file(batch, 0, 0), rows(range(2 * batch, 2 * batch + 2)))


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def test_small_files_become_one_sorted_file(tmp_path: Path) -> None:
    filled(tmp_path, range(5))
    assert list(due(tmp_path, 5, is_over=False, merge_from=6)) == []
    [files] = due(tmp_path, 5, is_over=False, merge_from=5)
    assert merge(tmp_path, files, 5) == 5
    assert [path.name for path in tmp_path.iterdir()] == [merged_file(0, 5)]
    assert read(tmp_path) == names(10)


def test_the_files_of_a_batch_that_may_come_again_are_left_alone(tmp_path: Path) -> None:
    filled(tmp_path, range(5))
    [files] = due(tmp_path, 4, is_over=False, merge_from=4)
    assert [file.first for file in files] == [0, 1, 2, 3]


def test_a_day_that_is_over_ends_as_one_file_and_stays_so(tmp_path: Path) -> None:
    archive = Archive.opened(tmp_path, 1)
    for batch in range(3):
        archive.write(rows(range(2 * batch, 2 * batch + 2)), batch_file(batch, 0, 0))
    assert merge_folders(archive, 10, "1970-01-02") == 0  # more may come
    assert merge_folders(archive, 40, "1970-01-01") == 0  # the day is not over
    assert merge_folders(archive, 40, "1970-01-02") == 3
    assert merge_folders(archive, 50, "1970-01-02") == 0
    archive.write(rows(range(6, 8)), batch_file(50, 0, 0))
    assert merge_folders(archive, 80, "1970-01-02") == 2
    [folder] = archive.folders()
    assert read(folder) == names(8)


@pytest.mark.parametrize("step", ["before", "unfinished", "renamed", "half deleted"])
def test_a_crash_at_any_step_of_a_merge_loses_and_repeats_nothing(tmp_path: Path, step: str) -> None:
    filled(tmp_path, range(4))
    [files] = due(tmp_path, 4, is_over=False, merge_from=2)
    if step == "unfinished":
        (tmp_path / f".{merged_file(0, 4)}.writing").write_bytes(b"half")
    if step in {"renamed", "half deleted"}:
        table = pa.concat_tables([pq.ParquetFile(tmp_path / file.name).read() for file in files])
        write_rows(tmp_path / merged_file(0, 4), table)
    if step == "half deleted":
        (tmp_path / files[1].name).unlink()
    assert sorted(read(tmp_path)) == sorted(names(8))
    sweep(tmp_path, 4)
    assert sorted(read(tmp_path)) == sorted(names(8))
    assert all(path.name in {file.name for file in counting_files(tmp_path)} for path in tmp_path.iterdir())


def test_what_a_batch_that_was_never_committed_has_left_goes(tmp_path: Path) -> None:
    filled(tmp_path, range(3))
    write_rows(tmp_path / batch_file(2, 0, 1), rows(range(100, 101)))
    assert sweep(tmp_path, 2) == 2
    assert read(tmp_path) == names(4)
