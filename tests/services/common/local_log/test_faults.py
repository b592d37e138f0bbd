"""A log in a file that is killed, full or damaged: what was acknowledged is there, or one is told."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import DamagedLogError, LogError
from services.common.log.records import NewRecord, Record, TopicPartition
from tests.services.common.local_log.writing_process import REACHED, TOGETHER, TOPIC, value_of

WRITING = "tests.services.common.local_log.writing_process"
FILLING = "tests.services.common.local_log.filling_process"
WAIT_S = 60.0


def records_in(path: Path, topic: str) -> list[Record]:
    with closing(LocalLog(path, tidied_every_s=1e9)) as log, log.reader(most_records=100) as reader:
        place = TopicPartition(topic, 0)
        reader.read_from({place: None})
        return [each for some in reader.up_to(reader.ends([place])) for each in some]


def killed_after(path: Path, delay_s: float) -> int:
    """Let a process append, kill it so long after its first acknowledgement, and return the last offset it had."""
    writer = subprocess.Popen([sys.executable, "-m", WRITING, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    said = [writer.stdout.readline()]
    time.sleep(delay_s)
    writer.send_signal(signal.SIGKILL)
    said += writer.communicate(timeout=WAIT_S)[0].splitlines()
    whole = [each for each in said if each.strip()]
    return int(whole[-1])


@pytest.mark.parametrize("kills", [10, pytest.param(200, marks=pytest.mark.night)])
def test_what_was_acknowledged_is_there_after_a_kill_at_any_moment_and_nothing_half(kills: int, tmp_path: Path) -> None:
    path, chosen = tmp_path / "log.sqlite", random.Random(kills)
    end = 0
    for _ in range(kills):
        acknowledged = killed_after(path, chosen.random() * 0.2)
        assert acknowledged >= end
        found = records_in(path, TOPIC)
        offsets = [each.offset for each in found]
        assert offsets == list(range(offsets[0], offsets[-1] + 1))
        assert [each.value for each in found] == list(map(value_of, offsets))
        end = offsets[-1] + 1
        assert end > acknowledged
        assert end % TOGETHER == 0
        reached = records_in(path, REACHED)
        assert int(reached[-1].value or b"") == end
        assert reached[-1].offset == end // TOGETHER - 1
    assert found[0].offset > 0  # some were deleted meanwhile
    assert reached[0].offset > 0  # and compacted away


def test_a_disk_without_room_is_told_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    command = [sys.executable, "-m", FILLING, str(tmp_path / "log.sqlite"), "300000"]
    answered = subprocess.run(command, check=True, capture_output=True, text=True, timeout=WAIT_S)
    acknowledged, told, offset = json.loads(answered.stdout)
    assert acknowledged > 10
    assert told.startswith("the disk does not take, or does not give, what the log ")
    assert told.endswith("True")  # it may succeed later
    assert offset >= acknowledged
    found = records_in(tmp_path / "log.sqlite", "t")
    assert [each.offset for each in found] == list(range(offset + 1))
    assert [int((each.value or b"").split()[0]) for each in found][:acknowledged] == list(range(acknowledged))
    assert found[-1].value == b"%d again" % acknowledged


def fill(log: LocalLog) -> None:
    for _ in range(100):
        log.append([NewRecord("t", b"k", b"x" * 3_000)]).result(WAIT_S)


def test_a_file_that_may_not_grow_is_told_and_can_be_appended_to_once_it_may(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(LocalLog(tmp_path / "log.sqlite")) as log:
        log.create_topics({"t": Topic(partitions=1)})
        [(pages,)] = log._thread._connection.execute("PRAGMA page_count").fetchall()
        log._thread._connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(LogError, match="there is no room left for the log") as told:
            fill(log)
        assert told.value.is_retriable
        with pytest.raises(LogError):
            fill(log)
        assert caplog.messages == [f"nothing is appended: {told.value}"]  # once
        log._thread._connection.execute("PRAGMA max_page_count = 1000000")
        [position] = log.append([NewRecord("t", b"k", b"there is room")]).result(WAIT_S)
    found = records_in(tmp_path / "log.sqlite", "t")
    assert [each.offset for each in found] == list(range(position.offset + 1))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, list[Record]]:
    """A log with values of all lengths, and what it holds."""
    path = tmp_path / "log.sqlite"
    with closing(LocalLog(path)) as log:
        log.create_topics({TOPIC: Topic(partitions=1), "other": Topic(partitions=3)})
        log.append([NewRecord(TOPIC, b"k", value_of(number)) for number in range(60)]).result(WAIT_S)
    return path, records_in(path, TOPIC)


def is_told(path: Path, expected: list[Record]) -> bool:
    """Return whether the damage is told; else all has to be there."""
    try:
        found = records_in(path, TOPIC)
    except DamagedLogError:
        return True
    assert found == expected
    return False


def test_a_file_that_ends_anywhere_but_at_its_end_is_told(written: tuple[Path, list[Record]]) -> None:
    path, expected = written
    size, chosen = path.stat().st_size, random.Random(1)
    for end in (0, 1, 99, 100, 4095, 4096, 5000, size - 4096, size - 1, *(chosen.randrange(size) for _ in range(40))):
        copy = path.with_name(f"{end}.sqlite")
        shutil.copy(path, copy)
        os.truncate(copy, end)
        with pytest.raises(DamagedLogError, match=rf"the log .*/{end}\.sqlite is damaged: "):
            records_in(copy, TOPIC)
    assert records_in(path, TOPIC) == expected


def test_a_torn_file_with_a_write_ahead_log_is_told_or_whole(written: tuple[Path, list[Record]]) -> None:
    path, before = written
    wal = path.with_name(f"{path.name}-wal")
    with closing(LocalLog(path, tidied_every_s=1e9)) as log:
        more = [NewRecord(TOPIC, b"k", value_of(number)) for number in range(60, 70)]
        log.append(more).result(WAIT_S)
        expected = before + [
            Record(TOPIC, 0, number, each.timestamp_ms, b"k", value_of(number))
            for number, each in zip(range(60, 70), records_in(path, TOPIC)[60:], strict=True)
        ]
        assert wal.stat().st_size > 0
        size, chosen, told = path.stat().st_size, random.Random(2), []
        for end in (0, 4096, size - 4096, size - 1, size, *(chosen.randrange(size) for _ in range(40))):
            copy = path.with_name(f"{end}.sqlite")
            shutil.copy(path, copy)
            shutil.copy(wal, copy.with_name(f"{copy.name}-wal"))
            os.truncate(copy, end)
            told.append((end, is_told(copy, expected)))
            told.append((end, is_told(copy, expected)))  # that it was opened has not hidden it
    assert all(is_told == (end < size) for end, is_told in told if end < size - 2 * 4096 or end == size)


def test_a_record_that_is_not_what_was_written_is_told(written: tuple[Path, list[Record]]) -> None:
    path, records = written
    content = bytearray(path.read_bytes())
    found = next(each.value for each in records if each.value and 20 < len(each.value) < 1_000)
    content[content.index(found) + 10] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedLogError, match=rf"what stands in {TOPIC}, partition 0, offset \d+, is not what was"):
        records_in(path, TOPIC)


def test_pages_of_zeros_are_told(written: tuple[Path, list[Record]]) -> None:
    path, expected = written
    content = path.read_bytes()
    for page in range(1, len(content) // 4096):
        copy = path.with_name(f"{page}.sqlite")
        copy.write_bytes(content[: page * 4096] + bytes(4096) + content[(page + 1) * 4096 :])
        is_told(copy, expected)
    is_told_of = [is_told(path.with_name(f"{page}.sqlite"), expected) for page in range(1, len(content) // 4096)]
    assert sum(is_told_of) > len(is_told_of) * 0.9  # the others are of topics that were not read


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is damaged: the file has 0 bytes"),
        (b"a text that somebody has put there, longer than a header of SQLite, and so no database", "is damaged: "),
    ],
)
def test_what_is_no_log_is_never_taken_for_a_new_one(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    path.write_bytes(content)
    with pytest.raises(DamagedLogError, match=why):
        LocalLog(path)
    assert path.read_bytes() == content


def test_another_database_and_another_format_are_told(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as connection:
        connection.execute("CREATE TABLE t (a)")
    with pytest.raises(LogError, match=r"other\.sqlite is a database, and no log of Coincide"):
        LocalLog(tmp_path / "other.sqlite")
    LocalLog(tmp_path / "log.sqlite").close()
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(LogError, match="has format 7, and this version of Coincide reads 1"):
        LocalLog(tmp_path / "log.sqlite")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(LogError, match=r"the log .*/file/log\.sqlite cannot be used \(.*\)"):
        LocalLog(tmp_path / "file" / "log.sqlite")
