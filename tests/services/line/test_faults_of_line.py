"""The fault suite for the line in one process, in its short form: nothing lost, nothing twice, and ready again soon.

Gateways post all the time, now and then twice or in another order, and post again what was not acknowledged. In the
end the oracle of `trials.chaos`, which knows nothing of the engine, says from the log what has to have come out.
"""

import json
import os
import random
import resource
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.host.machine import ROOT
from services.common.engine.shard_state import SHARD_STATE
from services.common.local_log.local_log import LocalLog
from services.common.log.records import Record
from services.common.program.skeleton import REFUSED
from services.common.settings import load_streams
from services.common.topics.topic_names import DEFAULT_NAMES
from services.demo.programme import matches_of, post_all
from services.demo.sn1987a import ALL_THREE, ANY_TWO
from services.line.fusion_thread import DETECTIONS
from tests.needs import found
from tests.one_process import OneProcess, one_process
from tests.patience import until
from tests.reference.silence import SlowSilence
from trials.chaos.balance import told_late
from trials.chaos.faults.clocks import prepared, set_clock
from trials.chaos.ledger import Ledger, Name
from trials.chaos.load import STEADY, STREAM, Load, prepare
from trials.chaos.oracle import Judged, expected_matches

#: Of processor time, from the end of a fault until all is ready: a start takes 2 to 3 s of it.
RECOVERED_S = 5.0
POSTS_BETWEEN = 6  # that are acknowledged before the next fault
HOUR_S = 3600
QUIET_S = 30


@dataclass
class Drill:
    """A line with gateways that post to it, and all that they were told."""

    line: OneProcess
    load: Load
    random: random.Random
    clock: Path  # the folder of the clock that the process reads

    @property
    def ledger(self) -> Ledger:
        return self.load.ledger

    def wait_for_posts(self, count: int = POSTS_BETWEEN) -> None:
        """Return when so many more POSTs are acknowledged."""
        so_far = self.ledger.posts["202"]
        until(lambda: self.ledger.posts["202"] >= so_far + count, every_s=0.02, tell=self.line.said)

    def wait_for_answers(self, count: int) -> None:
        """Return when so many more POSTs are answered, however."""
        so_far = self.ledger.posts.total()
        until(lambda: self.ledger.posts.total() >= so_far + count, every_s=0.02, tell=self.line.said)

    def recover(self) -> None:
        self.line.wait_ready(budget_s=RECOVERED_S)


def kill(drill: Drill) -> None:
    time.sleep(drill.random.uniform(0, 0.2))
    drill.line.kill()


def hang(drill: Drill) -> None:
    drill.line.suspend()
    time.sleep(drill.random.uniform(0.2, 1.5))
    drill.line.resume()


def fill_the_disk(drill: Drill) -> None:
    """Let none of its files grow: a gateway is told to come again, and whoever asks is answered."""
    process, unlimited = drill.line.process, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    refused = drill.ledger.posts["503"]
    process.rlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        until(lambda: drill.ledger.posts["503"] > refused, every_s=0.02, tell=drill.line.said)
        assert drill.line.ingest.get("/livez").status_code == 200
        assert drill.line.alerting.get("/v1/matches").status_code == 200
    finally:
        process.rlimit(resource.RLIMIT_FSIZE, unlimited)


def set_the_clock(drill: Drill) -> None:
    """Put it an hour ahead, or back, when all is refused that comes from the future, and right again."""
    set_clock(drill.clock, drill.random.choice((-HOUR_S, HOUR_S)))
    drill.wait_for_answers(POSTS_BETWEEN)
    set_clock(drill.clock, 0)


def cut_the_power(drill: Drill) -> None:
    """Go on with what is on the disk at some moment: what was acknowledged before is in it.

    The process stands still while its files are copied: a power cut takes all of them at one moment.
    """
    line, elsewhere = drill.line, drill.line.folder.with_name("elsewhere")
    time.sleep(drill.random.uniform(0, 0.2))
    acknowledged = set(drill.ledger.acknowledged)
    line.suspend()
    shutil.copytree(line.folder, elsewhere)
    line.process.kill()
    line.process.wait()
    shutil.rmtree(line.folder)
    elsewhere.rename(line.folder)
    assert acknowledged <= judged(line).logged.keys()
    line.start()


FAULTS: dict[str, Callable[[Drill], None]] = {
    "kill": kill,
    "hang": hang,
    "full disk": fill_the_disk,
    "clock set": set_the_clock,
    "power cut": cut_the_power,
}


def judged(line: OneProcess) -> Judged:
    """Read the log of a line, and judge it."""
    delay_us = load_streams(ROOT / "config/streams.yaml")[STREAM].max_delay_us
    judged = Judged(delay_us, SlowSilence(QUIET_S * 1_000_000))
    for each in records_in(line, DETECTIONS):
        judged.read(each.partition, each.value)
    return judged


def records_in(line: OneProcess, topic: str) -> list[Record]:
    """Return what its log has of a topic."""
    with closing(LocalLog(line.log)) as log, log.reader() as reader:
        partitions = reader.partitions_of(DEFAULT_NAMES.full(topic))
        reader.read_from(dict.fromkeys(partitions))
        return [each for some in reader.up_to(reader.ends(partitions)) for each in some]


@contextmanager
def drilling(folder: Path, seed: int) -> Iterator[Drill]:
    found("gcc")
    chosen = random.Random(seed)
    with one_process(folder / "line", prepared(folder)) as line:
        load = Load.of(line.layout.url("ingest"), chosen, detections_hz=100.0)
        prepare(line, load)
        yield Drill(line, load, chosen, folder)


def names_of(line: OneProcess) -> Counter[str]:
    return Counter(each["id"] for each in matches_of(line, STEADY, superseded="any"))


def assert_even(drill: Drill) -> None:
    """Everything acknowledged is in the log, each match of it is told and served once, each late detection, too."""
    log = judged(drill.line)
    lost: set[Name] = drill.ledger.acknowledged.keys() - log.logged.keys()
    assert not lost
    expected = Counter(dict.fromkeys(expected_matches(log.on_time), 1))
    until(lambda: names_of(drill.line) == expected, tell=drill.line.said)
    assert Counter(json.loads(each.value or b"")["id"] for each in records_in(drill.line, "matches")) == expected
    until(lambda: log.late - told_late(drill.line) == set())
    assert told_late(drill.line) <= log.late
    assert len(expected) > 10


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.night)])
def test_whatever_happens_nothing_is_lost_or_twice_and_it_is_ready_again_soon(rounds: int, tmp_path: Path) -> None:
    with drilling(tmp_path, rounds) as drill:
        with drill.load.running():
            for _ in range(rounds):
                for name in drill.random.sample(list(FAULTS), len(FAULTS)):
                    drill.wait_for_posts()
                    FAULTS[name](drill)
                    drill.recover()
            drill.wait_for_posts()
        assert_even(drill)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a line that has told of 1987, and was stopped in order."""
    folder: Path = tmp_path_factory.mktemp("told") / "line"
    with one_process(folder) as line:
        post_all(line)
        until(lambda: found_in(line) == ALL)
        line.stop()
    return folder


@pytest.fixture
def line(told: Path, tmp_path: Path) -> Iterator[OneProcess]:
    """A line over a copy of it, not started yet."""
    shutil.copytree(told, tmp_path / "line", ignore=shutil.ignore_patterns("line.log"))
    line = OneProcess(tmp_path / "line")
    yield line
    line.down()


ALL = {ANY_TWO: 183, ALL_THREE: 440}


def found_in(line: OneProcess) -> dict[str, int]:
    return {query: len(matches_of(line, query)) for query in ALL}


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def newest_value(line: OneProcess, topic: str) -> bytes:
    return records_in(line, topic)[-1].value or b""


def assert_told(said: str) -> None:
    assert "log.sqlite3 is damaged: " in said
    assert "move it away, and restore a backup if there is one" in said


def test_a_log_that_is_cut_short_is_not_gone_on_with(line: OneProcess) -> None:
    os.truncate(line.log, line.log.stat().st_size // 2)
    line.start()
    assert line.process.wait(60) == 1
    assert_told(line.said())


def test_a_state_that_is_not_what_was_written_is_told_by_whoever_needs_it(line: OneProcess) -> None:
    flip(line.log, line.log.read_bytes().index(newest_value(line, SHARD_STATE)[:60]) + 10)
    line.start()
    until(lambda: "damaged" in line.why_not_ready("fusion"), of=[line.process], tell=line.said)
    assert_told(line.why_not_ready("fusion"))
    assert found_in(line) == ALL  # of which nothing is damaged


@pytest.mark.parametrize("rounds", [2, pytest.param(40, marks=pytest.mark.night)])
def test_one_wrong_bit_is_told_or_changes_no_answer(rounds: int, line: OneProcess) -> None:
    whole, chosen = line.log.read_bytes(), random.Random(rounds)
    for _ in range(rounds):
        line.log.write_bytes(whole)
        flip(line.log, chosen.randrange(len(whole)))
        line.start()
        until(lambda: has_settled(line), of=[line.process])
        if line.process.poll() is None and "is damaged" not in line.said():
            assert found_in(line) == ALL
        else:
            assert_told(line.said())
        line.process.kill()
        line.process.wait()
        line.folder.joinpath("line.log").unlink()
        for left in line.folder.glob("log.sqlite3-*"):
            left.unlink()


def has_settled(line: OneProcess) -> bool:
    return line.process.poll() is not None or "is damaged" in line.said() or line.are_all_ready()


def test_what_alerting_keeps_is_made_anew_from_the_log(line: OneProcess) -> None:
    database = line.folder / "alerting.sqlite3"
    os.truncate(database, database.stat().st_size // 2)
    line.start()
    assert line.process.wait(60) == REFUSED
    [said] = [each for each in line.said().splitlines() if "is damaged" in each]
    assert said.startswith(f"coincide serve: the database {database.absolute()} is damaged (")
    assert said.endswith("; a new one is filled from the log")
    assert "Traceback" not in line.said()
    database.unlink()
    line.start()
    line.wait_ready()
    until(lambda: found_in(line) == ALL)
