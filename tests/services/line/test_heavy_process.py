"""Heavy work in a process of its own: at low priority, bounded, and gone with whoever started it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from services.common.http.problem import Problem
from services.line.heavy_process import NICENESS, HeavyProcess
from tests.patience import until

ORPHAN = """
import asyncio, os, signal
from services.line.heavy_process import HeavyProcess
if __name__ == "__main__":
    print(asyncio.run(HeavyProcess().run(os.getpid)), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def second() -> Iterator[HeavyProcess]:
    process = HeavyProcess(most_waiting=2, budget_s=0.5)
    yield process
    process.close()


def test_it_works_in_one_other_process_of_low_priority(second: HeavyProcess) -> None:
    async def ask() -> tuple[int, int, int]:
        return await second.run(os.getpid), await second.run(os.getpid), await second.run(os.nice, 0)

    first, again, niceness = asyncio.run(ask())
    assert first == again != os.getpid()
    assert niceness == min(19, os.nice(0) + NICENESS)
    second.close()
    until(lambda: not psutil.pid_exists(first))


def test_what_takes_too_long_ends_and_the_next_is_done(second: HeavyProcess) -> None:
    async def ask() -> str:
        with pytest.raises(Problem) as caught:
            await second.run(time.sleep, 600)
        assert (caught.value.status, caught.value.detail) == (503, "to work this out takes longer than 0.5 s")
        return await second.run(str, 7)

    assert asyncio.run(ask()) == "7"


def test_it_raises_what_the_work_raises(second: HeavyProcess) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(second.run(int, "seven"))


def test_more_than_may_wait_are_refused_and_told_to_come_again(second: HeavyProcess) -> None:
    async def ask() -> list[object]:
        return await asyncio.gather(*(second.run(abs, -nth) for nth in range(3)), return_exceptions=True)

    *done, refused = asyncio.run(ask())
    assert done == [0, 1]
    assert isinstance(refused, Problem)
    assert (refused.status, refused.headers) == (503, {"Retry-After": "1"})


def test_after_its_process_has_died_another_one_works(second: HeavyProcess) -> None:
    async def ask() -> str:
        with pytest.raises(Problem, match="has ended"):
            await second.run(os.kill, await second.run(os.getpid), signal.SIGKILL)
        return await second.run(str, 7)

    assert asyncio.run(ask()) == "7"


def test_it_does_not_outlive_a_line_that_is_killed() -> None:
    killed = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    until(lambda: not psutil.pid_exists(int(killed.stdout)))
