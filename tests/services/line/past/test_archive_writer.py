"""The archive of a line has every detection of its log once, wherever its process was killed, and however often."""

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import json as msgspec_json
from msgspec import structs

from coincide import Histogram
from coincide.fusion.records.kafka_records import InputRecord
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.records import NewRecord
from services.common.settings import SettingsError
from services.history.archiving.folders import Archive
from services.history.archiving.frame_rows import ROW_SCHEMA
from services.history.archiving.layout import POSITION
from services.history.rows.topic_records import TopicRecords
from services.line.past import archive_writer
from services.line.past.archive_position import read_position
from services.line.past.archive_writer import ArchiveWriter
from services.line.past.task import Task
from tests.coincide.fusion.inputs import heartbeat, poisson_frames
from tests.reference.frames import rows_of

TOPIC = "reef.detections"
SENSORS = [("north", "p", Histogram.uniform(-1, 0), 0.5), ("south", "s", Histogram.uniform(-2, 0), 0.5)]
FRAMES = poisson_frames(np.random.default_rng(1), SENSORS, 200_000)[::16][:600]  # over three days
KILLS = 6
#: The second process, which would stand still for as long as others keep the cores busy.
BUSY = """
import sys
from services.line.past import worker
worker.yield_to_live_work = lambda: None
sys.exit(worker.main())
"""


@contextmanager
def opened(folder: Path) -> Iterator[LocalLog]:
    log = LocalLog(folder / "log.sqlite3")
    try:
        log.create_topics({TOPIC: Topic(partitions=3)})
        yield log
    finally:
        log.close()


def append(log: LocalLog, frames: Sequence[InputRecord]) -> None:
    """Append frames; areas have a partition each, and folders of their own."""
    log.append([_record(each) for each in frames]).result(10)


def _record(each: InputRecord) -> NewRecord:
    number, content = each.offset // 16 % 3, json.loads(each.value or b"")
    if "heartbeat" in content:
        return NewRecord(TOPIC, None, each.value, partition=number)
    area = f"bay-{number}"
    return NewRecord(TOPIC, area.encode(), json.dumps({**content, "area": area}).encode(), partition=number)


def archive_of(folder: Path) -> Archive:
    return Archive.opened(folder / "archive", 4)


def catch_up(folder: Path, log: LocalLog, *, allow_data_loss: bool = False) -> None:
    with TopicRecords(log.reader(), TOPIC, 10.0) as detections:
        ArchiveWriter(archive_of(folder), detections, allow_data_loss=allow_data_loss).catch_up()


def expected_of(log: LocalLog) -> Counter[tuple[Any, ...]]:
    """Return every detection of the log with where it stands, row by row."""
    with log.reader() as reader:
        partitions = reader.partitions_of(TOPIC)
        starts = reader.beginnings(partitions)
        found = [each for some in reader.between(starts, reader.ends(partitions)) for each in some]
    frames = [(each, json.loads(each.value or b"")) for each in found]
    return Counter(
        (each.partition, each.offset, nth, content["area"], row["sensor"], row["stream"], row["id"])
        for each, content in frames
        if "heartbeat" not in content
        for nth, row in enumerate(rows_of(content))
    )


def archived(folder: Path) -> Counter[tuple[Any, ...]]:
    names = ["partition", "offset", "position", "area", "sensor_id", "stream", "id"]
    tables = [pq.ParquetFile(path).read() for path in archive_of(folder).files()]
    assert {table.schema for table in tables} <= {ROW_SCHEMA}
    return Counter(tuple(row[name] for name in names) for table in tables for row in table.to_pylist())


def test_it_goes_on_where_it_was_and_writes_nothing_where_nothing_came(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        catch_up(tmp_path, log)
        assert archived(tmp_path) == expected_of(log) == Counter()
        append(log, FRAMES[:10])
        catch_up(tmp_path, log)
        append(log, [*FRAMES[10:20], heartbeat(0, 5.0)])
        catch_up(tmp_path, log)
        files = archive_of(tmp_path).files()
        assert archived(tmp_path) == expected_of(log)
        append(log, [heartbeat(0, 6.0)])
        catch_up(tmp_path, log)
        assert archive_of(tmp_path).files() == files
        after = read_position(tmp_path / "archive")
        assert after is not None
        assert (after.next_batch, sum(after.offsets.values())) == (2, 22)


class KilledError(BaseException):
    """Ends the writing of an archive as a kill does, as far as files are concerned."""


@settings(max_examples=20, deadline=None)
@example(kills=[0, 4], cuts=[9, 60])
@example(kills=[0, 5], cuts=[9, 60])
@example(kills=[0, 6], cuts=[9, 60])
@given(kills=st.lists(st.integers(0, 14), max_size=6), cuts=st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_whatever_step_it_is_killed_at_every_row_is_there_once(kills: list[int], cuts: list[int]) -> None:
    with TemporaryDirectory() as name, opened(folder := Path(name)) as log, pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive_writer, "ROWS_IN_BATCH", 100)
        patch.setattr("services.history.rows.topic_records.BYTES_AT_ONCE", 4_000)
        patch.setattr(archive_writer, "MERGE_EVERY", 2)
        patch.setattr("services.history.archiving.merging.MERGE_FROM", 2)
        left = [0]

        def dying(function: Any, after: bool) -> Any:
            def call(*given: Any, **named: Any) -> Any:
                left[0] -= 1
                if left[0] == 0 and not after:
                    raise KilledError
                told = function(*given, **named)
                if left[0] == 0:
                    raise KilledError
                return told

            return call

        for nth, module in enumerate(("folders.write_rows", "layout.write_whole", "folders.write_whole")):
            target = f"services.history.archiving.{module}"
            patch.setattr(target, dying(_named(target), after=nth == 1))
        for target in ("write_whole", "sweep", "merge_folders"):
            patch.setattr(archive_writer, target, dying(getattr(archive_writer, target), after=target == "sweep"))
        first = 0
        for cut in [*cuts, 100]:
            append(log, FRAMES[first : first + cut])
            first += cut
            left[0] = kills.pop() if kills else 0
            try:
                catch_up(folder, log)
            except KilledError:
                continue
        left[0] = 0
        catch_up(folder, log)
        assert archived(folder) == expected_of(log)


def _named(target: str) -> Any:
    module, _, name = target.rpartition(".")
    return getattr(__import__(module, fromlist=[name]), name)


def test_a_process_that_is_killed_at_any_time_leaves_no_row_out_and_none_twice(tmp_path: Path) -> None:
    task = Task(
        str(tmp_path / "log.sqlite3"),
        "reef.",
        "config/streams.yaml",
        {"archive_path": str(tmp_path / "archive"), "runs_path": str(tmp_path / "runs")},
        {"area_hashes": 4},
    )
    rng = random.Random(3)
    with opened(tmp_path) as log:
        for nth in range(KILLS):
            append(log, FRAMES[100 * nth : 100 * (nth + 1)])
            process = subprocess.Popen([sys.executable, "-c", BUSY], stdin=subprocess.PIPE)
            assert process.stdin is not None
            process.stdin.write(msgspec_json.encode(structs.replace(task)) + b"\n")
            process.stdin.flush()
            _wait_for_writing(tmp_path / "archive", process, rng.uniform(0, 0.05))
            if nth < KILLS - 1:
                process.kill()
            assert process.wait() == (-9 if nth < KILLS - 1 else 0)
            process.stdin.close()
        assert archived(tmp_path) == expected_of(log)
    assert len(archived(tmp_path)) > 5_000


def _wait_for_writing(archive: Path, process: "subprocess.Popen[bytes]", more_s: float) -> None:
    """Wait until something in the folder is new, or the process has ended, and a moment longer."""
    before = _seen(archive)
    while process.poll() is None and _seen(archive) == before:
        time.sleep(0.001)
    time.sleep(more_s)


def _seen(archive: Path) -> set[tuple[str, int]]:
    return {(str(each), each.stat().st_mtime_ns) for each in archive.rglob("*.parquet")}


def test_what_the_log_deleted_before_it_was_archived_is_told(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        catch_up(tmp_path, log)
        position = read_position(tmp_path / "archive")
        assert position is not None
        append(log, FRAMES[:20])
        with TopicRecords(log.reader(), TOPIC, 10.0) as detections:
            gone = {number: end - 1 for number, end in detections.end_offsets().items()}
            detections.first_offsets = lambda: gone  # type: ignore[method-assign]
            with pytest.raises(SettingsError, match="the log deleted detections before they were archived"):
                ArchiveWriter(archive_of(tmp_path), detections, allow_data_loss=False).catch_up()
            ArchiveWriter(archive_of(tmp_path), detections, allow_data_loss=True).catch_up()
        assert sum(archived(tmp_path).values()) == sum(
            1 for partition, offset, *_ in expected_of(log).elements() if offset == gone[partition]
        )


def test_an_archive_of_another_log_or_of_spark_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as log:
        catch_up(tmp_path, log)
        written = json.loads((tmp_path / "archive" / POSITION).read_text())
        (tmp_path / "archive" / POSITION).write_text(json.dumps({**written, "topic_id": "another"}))
        with pytest.raises(SettingsError, match="of another log: move it away"):
            catch_up(tmp_path, log)
        (tmp_path / "archive" / POSITION).write_text(json.dumps({**written, "offsets": {"0": 1, "1": 0, "2": 0}}))
        with pytest.raises(SettingsError, match="has more than the log, which is older"):
            catch_up(tmp_path, log)
        (tmp_path / "archive" / POSITION).write_text("torn")
        with pytest.raises(SettingsError, match="cannot be read"):
            catch_up(tmp_path, log)
        (tmp_path / "archive" / POSITION).unlink()
        (tmp_path / "archive" / "_checkpoint").mkdir()
        with pytest.raises(SettingsError, match="is one of Spark's job"):
            catch_up(tmp_path, log)
