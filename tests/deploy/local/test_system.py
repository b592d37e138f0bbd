"""The whole system under its process runner: what dies comes back, what is asked twice is done once."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from deploy.host.machine import LocalError
from deploy.host.patience import suspend
from deploy.jvm.java import find_java
from deploy.local.__main__ import rebuilt_shares
from deploy.local.broker import answers
from deploy.local.layout import Layout
from deploy.local.system import HaltedError, System
from services.common.checkpoint_folder import IDENTITY_FILE
from tests.patience import until

pytestmark = pytest.mark.jvm


def test_up_on_a_running_system_starts_nothing(system: System) -> None:
    before = {name: system.supervision.pid(name) for name in system.processes}
    reports: list[tuple[str, str]] = []
    system.up(lambda name, state: reports.append((name, state)))
    assert {name: system.supervision.pid(name) for name in system.processes} == before
    assert {name for name, state in reports if state == "ready"} == {*system.processes, "topics", "sensors"}


def test_status_says_that_all_are_ready(system: System) -> None:
    assert list(system.status()) == list(system.processes)
    for state in system.status().values():
        assert state.startswith("RUNNING")
        assert state.endswith(", ready")


@pytest.mark.kills
def test_a_fusion_that_is_halted_says_why_until_a_rebuild_which_tells_how_far_it_is(system: System) -> None:
    before = {name: system.supervision.pid(name) for name in system.processes}
    system.supervision.stop_process("fusion")
    (system.layout.runtime / "checkpoint" / IDENTITY_FILE).write_text("{")
    halted = "halted: the checkpoint is damaged (its coincide.json cannot be read): put a whole one back, or rebuild"
    with pytest.raises(HaltedError, match=rf"^fusion is {re.escape(halted)}. The others are up"):
        system.up()
    until(lambda: system.status()["fusion"].startswith("RUNNING"))  # it has started for some seconds
    assert system.status()["fusion"].endswith(f", {halted}")
    with pytest.raises(HaltedError):
        system.waiting_detections()
    system.rebuild()
    assert list(rebuilt_shares(system.waiting_detections))[-1] == 1.0
    system.wait_ready()
    assert [name for name in system.processes if system.supervision.pid(name) != before[name]] == ["fusion"]


@pytest.mark.kills
def test_one_process_is_stopped_and_started_while_the_others_stay_up(system: System) -> None:
    before = {name: system.supervision.pid(name) for name in system.processes}
    for wrong in ([], ["fusion", "fission"]):
        with pytest.raises(
            LocalError, match=r"make stop NAMES=.*, of kafka, alerting, fusion, ingest, console, archive, history"
        ):
            system.stop(wrong)
    system.stop(["console"])
    assert system.status()["console"].startswith("STOPPED")
    system.up()
    assert [name for name in system.processes if system.supervision.pid(name) != before[name]] == ["console"]


def test_how_far_a_rebuild_is_counts_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.local.__main__.POLL_S", 0.0)
    waiting = iter([None, 200, 150, None, 300, 75, 4, 3])
    assert list(rebuilt_shares(lambda: next(waiting))) == pytest.approx([0.0, 0.25, 0.0, 0.75, 1 - 4 / 300, 1.0])
    assert list(rebuilt_shares(lambda: 0)) == [1.0]


@pytest.mark.kills
def test_killed_processes_come_back(system: System) -> None:
    killed = {name: system.supervision.pid(name) for name in ("ingest", "alerting", "console", "kafka")}
    for name in killed:
        system.kill(name)
    system.wait_ready()
    assert [name for name, pid in killed.items() if system.supervision.pid(name) == pid] == []
    assert [pid for pid in killed.values() if psutil.pid_exists(pid)] == []


@pytest.mark.kills
def test_the_broker_stays_away_until_it_is_started(system: System) -> None:
    system.stop_broker()
    try:
        assert not answers(system.layout.bootstrap)
        with pytest.raises(LocalError, match=r"^kafka does not run, so it cannot be sent SIGSTOP$"):
            system.supervision.send_signal("kafka", signal.SIGSTOP)
    finally:
        system.start_broker()
    suspend(psutil.Process(system.supervision.pid("kafka")))
    try:
        assert not answers(system.layout.bootstrap)
    finally:
        system.supervision.send_signal("kafka", signal.SIGCONT)
    system.wait_ready()


def test_a_taken_port_is_one_sentence_and_leaves_nothing_behind(tmp_path: Path) -> None:
    other = System(Layout.isolated(tmp_path))
    with socket.create_server(("127.0.0.1", other.layout.ports.alerting)) as server:
        port = server.getsockname()[1]
        with pytest.raises(LocalError, match=rf"^port {port}, wanted by alerting, is in use by process \d+ [^\n]*$"):
            other.up()
    assert not other.supervision.is_running
    assert other.down() == []


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[System]:
    """A runner with no process in it, in a folder with a space, whose alerting cannot read its streams."""
    missing = {"COINCIDE_ALERTING_STREAMS_PATH": str(tmp_path / "missing.yaml")}
    whole = System(Layout.isolated(tmp_path / "a b", missing))
    whole.supervision.start(find_java().home)
    yield whole
    whole.down()


def test_a_process_that_cannot_start_is_named_with_its_last_words(bare: System) -> None:
    bare.supervision.start_process("alerting")
    with pytest.raises(
        LocalError, match=r"^alerting could not be started; [^\n]*alerting.log ends with:\n(.*\n)*.*missing"
    ):
        bare.wait_ready("alerting")


def test_down_ends_what_a_killed_runner_left_behind(bare: System) -> None:
    bare.supervision.start_process("ingest")  # it lives without Kafka
    until(lambda: bare.supervision.state("ingest") == "RUNNING")
    ingest = psutil.Process(bare.supervision.pid("ingest"))
    runner = ingest.parent()
    assert runner is not None
    runner.kill()
    runner.wait(10)
    assert ingest.is_running()
    assert bare.down() == []
    assert not ingest.is_running()
