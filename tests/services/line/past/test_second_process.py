"""A task's process: it is killed with whoever waits for it, and a run whose process is killed is done again."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from coincide.queries import Query
from services.history.replaying.request import RunError, RunRequest
from services.history.replaying.run_folder import Reporter, RunFolder
from services.line.past import second_process
from services.line.past.run_in_process import MOST_TRIES, RunInProcess
from services.line.past.second_process import SecondProcess, WorkerDiedError
from services.line.past.task import Task
from tests.patience import until
from tests.services.history.runs.test_run import RULED

NOBODY = "import os; os.kill(os.getpid(), 9)"
ONCE = """
import os, sys, pathlib
tried = pathlib.Path({path!r})
if not tried.exists():
    tried.touch()
    os.kill(os.getpid(), 9)
"""
UNABLE = "import sys; sys.exit('past: there is no such thing')"
WAITS = "import sys; sys.stdin.readline(); print('begun', file=sys.stderr, flush=True); sys.stdin.read()"


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def instead(code: str) -> None:
        monkeypatch.setattr(second_process, "WORKER", (sys.executable, "-c", code))

    return instead


def task(folder: Path) -> Task:
    return Task("log", "reef.", "streams.yaml", {"runs_path": str(folder), "archive_path": str(folder)}, {})


def reporter(folder: Path, is_cancelled: Callable[[], bool] = lambda: False) -> Reporter:
    request = RunRequest(Query.from_json(RULED), 0, 61_000_000)
    told = Reporter(RunFolder(folder / request.id), request, is_cancelled)
    told.tell("running", progress=0.5)
    (told.folder.path / ".parts-x").mkdir()
    return told


def done(folder: Path, told: Reporter, missing: str | None = None) -> None:
    RunInProcess(task(folder), SecondProcess(), missing)(told.request, told)


def test_a_run_whose_process_is_killed_is_done_again(work: Callable[[str], None], tmp_path: Path) -> None:
    work(ONCE.format(path=str(tmp_path / "tried")))
    told = reporter(tmp_path)
    done(tmp_path, told)
    assert told.folder.summary()["state"] == "running", "the process itself says more"
    assert not list(told.folder.path.glob(".parts-*"))


def test_a_run_that_kills_its_process_every_time_fails_and_says_so(work: Callable[[str], None], tmp_path: Path) -> None:
    work(NOBODY)
    told = reporter(tmp_path)
    with pytest.raises(RunError, match=f"was killed {MOST_TRIES} times"):
        done(tmp_path, told)
    assert told.folder.summary()["state"] == "failed"


def test_what_the_process_says_last_is_why_a_run_failed(work: Callable[[str], None], tmp_path: Path) -> None:
    work(UNABLE)
    told = reporter(tmp_path)
    with pytest.raises(RunError, match="its process ended: past: there is no such thing"):
        done(tmp_path, told)


@pytest.fixture
def children() -> Callable[[], list[psutil.Process]]:
    """Return what tells the processes that this test has begun."""
    before = set(psutil.Process().children())
    return lambda: [each for each in psutil.Process().children() if each not in before]


def test_a_run_that_is_cancelled_ends_with_its_process(
    work: Callable[[str], None], children: Callable[[], list[psutil.Process]], tmp_path: Path
) -> None:
    work(WAITS)
    told = reporter(tmp_path, lambda: bool(children()))
    done(tmp_path, told)
    assert told.folder.summary()["state"] == "cancelled"
    assert not children()


def test_one_task_at_a_time_and_who_waits_may_go(
    work: Callable[[str], None], children: Callable[[], list[psutil.Process]], tmp_path: Path
) -> None:
    work(WAITS)
    process, is_over = SecondProcess(), threading.Event()
    first = threading.Thread(target=process.do, args=(task(tmp_path), is_over.is_set))
    first.start()
    until(lambda: len(children()) == 1)
    assert process.do(task(tmp_path), lambda: True) is False
    is_over.set()
    first.join()


def test_without_what_it_needs_no_process_is_started(tmp_path: Path) -> None:
    told = reporter(tmp_path)
    with pytest.raises(RunError, match="pyarrow is missing"):
        done(tmp_path, told, "pyarrow is missing")
    assert told.folder.summary()["error"] == "pyarrow is missing"


def test_a_process_whose_line_is_killed_ends_with_it(tmp_path: Path) -> None:
    code = f"""
import subprocess, sys
from services.line.past.second_process import SecondProcess
from services.line.past import second_process
second_process.WORKER = (sys.executable, "-c", {WAITS!r})
from tests.services.line.past.test_second_process import task
from pathlib import Path
SecondProcess().do(task(Path({str(tmp_path)!r})), lambda: False)
"""
    line: Any = psutil.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    assert line.stderr.readline() == b"begun\n"
    [worker] = line.children()
    line.kill()
    line.wait()
    line.stderr.close()
    until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_a_task_that_cannot_be_done_says_how_it_ended(work: Callable[[str], None], tmp_path: Path) -> None:
    work(NOBODY)
    with pytest.raises(WorkerDiedError, match="signal 9 ended it") as death:
        SecondProcess().do(task(tmp_path), lambda: False)
    assert death.value.was_killed
