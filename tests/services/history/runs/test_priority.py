"""A run has the cores only while nobody else wants them; who asks for it is served as ever."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.host.machine import ROOT
from services.history.idle_work import AUTOGROUP, LEAST, yield_to_live_work
from services.history.replaying.staff import Processes


class Policy:
    """Answers how the process that does it is scheduled."""

    def answer(self, _check: object) -> int:
        return os.sched_getscheduler(0)


@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="this system has no idle class")
def test_a_run_and_its_processes_are_idle_work_and_the_server_is_not() -> None:
    def policies() -> list[int]:
        yield_to_live_work()
        with Processes(2) as processes:
            own = os.sched_getscheduler(0)
            return [own, *(policy for _, policy in processes.answers([Policy(), Policy()], lambda _: None))]

    with ThreadPoolExecutor(1) as runs:
        assert runs.submit(policies).result() == [os.SCHED_IDLE] * 3
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


#: In a session of its own, since that of the tests may share the cores with nobody: starts a process, which yields.
SESSION = """
import subprocess, sys
from services.history.idle_work import AUTOGROUP
yields = "from services.history.idle_work import *; yield_to_live_work(); print(AUTOGROUP.read_text(), end='')"
told = subprocess.run([sys.executable, "-c", yields], start_new_session=%s, capture_output=True, text=True, check=True)
print(told.stdout or "none", AUTOGROUP.read_text() or "none", sep="", end="")
"""


@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel does not share the cores among sessions")
@pytest.mark.parametrize("of_its_own", [True, False])
def test_a_session_of_its_own_yields_as_a_whole_and_a_shared_one_stays(of_its_own: bool) -> None:
    session = [sys.executable, "-c", SESSION % of_its_own]
    told = subprocess.run(session, cwd=ROOT, start_new_session=True, capture_output=True, text=True, check=True)
    if told.stdout == "nonenone":
        pytest.skip("this system is told not to share the cores among sessions")
    of_run, present = (line.split() for line in told.stdout.splitlines())
    assert of_run[-1] == (str(LEAST) if of_its_own else present[-1])
    assert (of_run[0] != present[0]) is of_its_own
