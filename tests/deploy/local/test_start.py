"""How a start is waited for: what is given up, what stays up all the same, and what a person reads meanwhile."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import psutil
import pytest

from deploy.host.machine import LocalError
from deploy.local import __main__ as command
from deploy.local.layout import Layout
from deploy.local.start_progress import lines
from deploy.local.supervision import MOST_ENDS, Start, Supervision
from deploy.local.system import HaltedError, PartlyUpError, System
from services.common.http.problem_document import MEDIA_TYPE, problem_document
from spark_jobs.job.restarts import HALTED


class Runner(Supervision):
    """Supervisor's words for each process, one a poll; the last one stays."""

    def __init__(self, layout: Layout, words: dict[str, list[str]]) -> None:
        super().__init__(layout)
        self.words = words

    def state(self, name: str) -> str:
        words = self.words.get(name, ["RUNNING"])
        return words.pop(0) if len(words) > 1 else words[0]

    def family(self, name: str) -> list[psutil.Process]:
        return []


Made = Callable[..., System]


def not_ready(why: str) -> httpx2.Response:
    content = json.dumps(problem_document(503, why))
    return httpx2.Response(503, content=content, headers={"Content-Type": MEDIA_TYPE})


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Make a system with an archive whose processes are as told; one that says nothing of itself is ready."""

    def make(words: dict[str, list[str]], **said: str) -> System:
        whole = System(Layout.isolated(tmp_path, {"COINCIDE_ARCHIVE_PATH": f'"{tmp_path}"'}))
        whole.supervision = Runner(whole.layout, words)
        whole.layout.logs.mkdir()
        for name in whole.processes:
            (whole.layout.logs / f"{name}.log").write_text(f"the last words of {name}\n")
        monkeypatch.setattr(whole, "is_ready", lambda name: name not in said)
        monkeypatch.setattr(whole, "_readiness", lambda name: not_ready(said.get(name, "")))
        return whole

    return make


def test_an_optional_part_that_does_not_come_up_is_named_once_the_rest_is_ready(system: Made) -> None:
    reports: dict[str, str] = {}
    slow = ["STARTING"] * 3 + ["RUNNING"]
    whole = system({"archive": ["EXITED"], "history": ["FATAL"], "fusion": slow})
    with pytest.raises(PartlyUpError) as raised:
        whole.wait_ready(report=reports.__setitem__)
    logs = whole.layout.logs
    assert str(raised.value) == (
        "archive could not be started; history could not be started. The others are up"
        f"; {logs / 'archive.log'} ends with:\nthe last words of archive"
        f"; {logs / 'history.log'} ends with:\nthe last words of history"
    )
    assert {name for name, state in reports.items() if state == "ready"} == set(whole.processes) - {
        "archive",
        "history",
    }
    assert reports["archive"] == "NOT ready, could not be started"


def test_what_is_needed_is_not_done_without(system: Made) -> None:
    with pytest.raises(LocalError, match=r"^alerting could not be started; [^\n]* ends with:\nthe last") as raised:
        system({"alerting": ["FATAL"]}).wait_ready()
    assert not isinstance(raised.value, PartlyUpError)


def test_one_that_waits_for_a_person_and_one_that_is_missing_are_said_together(system: Made) -> None:
    with pytest.raises(
        HaltedError, match=r"^fusion is halted: why; console could not .*\. The others are up \(docs/.*"
    ):
        system({"console": ["FATAL"]}, fusion=f"{HALTED}why").wait_ready()


def test_no_logs_are_followed_before_anything_has_run(system: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, followed = system({}), list[list[str]]()
    monkeypatch.setattr(os, "execv", lambda _, arguments: followed.append(arguments))
    command._logs(whole)
    assert str(whole.layout.logs / "kafka.log") in followed[0]
    for each in whole.layout.logs.iterdir():
        each.unlink()
    with pytest.raises(LocalError, match="there are no logs to follow in "):
        command._logs(whole)
    assert len(followed) == 1


@pytest.mark.parametrize(("error", "stays"), [(PartlyUpError, True), (HaltedError, True), (LocalError, False)])
def test_up_takes_nothing_down_that_is_of_use(
    system: Made, monkeypatch: pytest.MonkeyPatch, error: type[LocalError], stays: bool
) -> None:
    whole, downs = system({}), []

    def fail(*_: object, **__: object) -> None:
        raise error("so it is")

    monkeypatch.setattr(whole, "_start_all", fail)
    monkeypatch.setattr(whole, "down", lambda: downs.append(1))
    with pytest.raises(error):
        whole.up()
    assert (downs == []) is stays


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_start_that_is_told_to_end_takes_down_what_it_started_and_a_second_signal_does_not_stop_that(
    system: Made, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    whole, downs = system({}), list[str]()

    def go_on(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        downs.append("goes on")

    def down() -> list[str]:
        os.kill(os.getpid(), number)
        downs.append("is down")
        return []

    usual = {each: signal.signal(each, lambda *_: None) for each in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(whole, "_start_all", go_on)
    monkeypatch.setattr(whole, "down", down)
    monkeypatch.setattr(type(whole.supervision), "is_running", False)
    try:
        with pytest.raises(KeyboardInterrupt):
            command._up(whole)
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)
    assert downs == ["is down"]


def test_the_command_says_where_the_rest_is_and_then_what_is_missing(
    system: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = system({})

    def start(*_: object, **__: object) -> None:
        raise PartlyUpError("archive could not be started")

    monkeypatch.setattr(command, "_start", start)
    with pytest.raises(PartlyUpError):
        command._up(whole)
    assert whole.layout.url("console") in capsys.readouterr().out


def test_a_start_is_given_up_at_its_last_end_and_not_at_the_first(tmp_path: Path) -> None:
    start = Start(Runner(Layout.isolated(tmp_path), {}), "ingest")
    for _ in range(MOST_ENDS - 1):
        assert [start.why_over(state) for state in ("STARTING", "BACKOFF", "BACKOFF")] == [None] * 3
    assert start.progress == "starting again, 0 s of processor time"
    assert start.why_over("STARTING") is None
    assert start.why_over("BACKOFF") == "could not be started"


def test_a_start_that_uses_more_than_its_budget_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.local.supervision.START_BUDGET_S", 0.1)
    with psutil.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        runner = Runner(Layout.isolated(tmp_path), {})
        monkeypatch.setattr(runner, "family", lambda name: [busy])
        start = Start(runner, "ingest")
        why = None
        while why is None:
            why = start.why_over("STARTING")
        busy.kill()
    assert why.startswith("is not ready: it used ")


def test_a_file_gets_a_line_for_each_change_and_one_every_ten_seconds() -> None:
    said: list[tuple[float, str]] = []
    now_s = 0.0
    report = lines(lambda line: said.append((now_s, line)), lambda: now_s)
    for second in range(25):
        now_s = float(second)
        report("fusion", "starting" if second == 0 else f"starting, {second} s of processor time")
        if second < 4:
            report("kafka", "starting" if second < 3 else "ready")
    now_s = 25.0
    report("fusion", "ready")
    assert said == [
        (0, "fusion: starting"),
        (0, "kafka: starting"),
        (3, "kafka: ready"),
        (10, "fusion: starting, 10 s of processor time"),
        (20, "fusion: starting, 20 s of processor time"),
        (25, "fusion: ready"),
    ]
