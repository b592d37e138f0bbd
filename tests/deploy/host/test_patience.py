"""Waiting by progress: what ends a wait in vain, what is progress, and what a family has used."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import psutil
import pytest

from deploy.host.patience import IDLE_BYTES, Patience, Reading, readings, spent
from tests.patience import until

FATHER, SON, GRANDSON = "father", "son", "grandson"
PIDS = {FATHER: 10, SON: 11, GRANDSON: 12}
PARENTS = {FATHER: 1, SON: 10, GRANDSON: 11}


def reading(name: str, cpu_s: float, children_s: float = 0.0, *, disk_bytes: int = 0, is_over: bool = False) -> Reading:
    return Reading(PIDS[name], PARENTS[name], cpu_s, children_s, disk_bytes, is_over)


def family(**read: tuple[float, ...]) -> dict[str, Reading]:
    return {name: reading(name, *values) for name, values in read.items()}


@dataclass
class Machine:
    """One process whose work follows a plan: cores, and bytes a second, from a second on."""

    cores: Mapping[float, float]
    bytes_a_second: float = 0.0
    ends_at_s: float = float("inf")
    crowded: float = 1.0
    gives_way_from_s: float = float("inf")
    gives_way_until_s: float = float("inf")
    now_s: float = 0.0
    used_s: float = 5.0  # before the wait
    looks: list[float] = field(default_factory=list)

    def sleep(self, for_s: float) -> None:
        self.used_s += for_s * self.cores[max(since_s for since_s in self.cores if since_s <= self.now_s)]
        self.now_s += for_s

    def look(self, roots: Iterable[Any]) -> dict[Any, Reading]:
        self.looks.append(self.now_s)
        moved = int(self.bytes_a_second * self.now_s)
        is_seen = FATHER in set(roots) and self.now_s < self.ends_at_s
        gave_way_s = max(0.0, min(self.now_s, self.gives_way_until_s) - self.gives_way_from_s)
        now = reading(FATHER, self.used_s, disk_bytes=moved)._replace(gave_way_s=gave_way_s)
        return {FATHER: now} if is_seen else {}

    def patience(self, budget_s: float = 90.0, named: Callable[[], Iterable[Any]] = lambda: (FATHER,)) -> Patience:
        return Patience(
            named,
            budget_s,
            clock=lambda: self.now_s,
            sleep=self.sleep,
            look=self.look,
            crowded=lambda: self.crowded,
        )


def never() -> bool:
    return False


def test_a_family_that_works_is_waited_for_until_it_has_used_its_budget() -> None:
    machine = Machine({0: 0.1})
    assert machine.patience().wait(never, 0.5) == "used 90 s of processor time"
    assert machine.now_s == pytest.approx(900, abs=2)  # as slow as the machine is


def test_a_family_that_does_nothing_is_given_up_after_half_a_minute() -> None:
    machine = Machine({0: 1.0, 40: 0.01})
    assert machine.patience().wait(never, 0.5) == "did nothing for 30 s"
    assert machine.now_s == pytest.approx(70, abs=3)


def test_what_is_little_on_a_quiet_machine_is_progress_on_a_crowded_one() -> None:
    machine = Machine({0: 0.01}, crowded=14.0)
    assert machine.patience(budget_s=5).wait(never, 0.5) == "used 5 s of processor time"


def test_reading_a_disk_is_progress_without_processor_time() -> None:
    machine = Machine({0: 0.0}, bytes_a_second=IDLE_BYTES / 10)
    assert machine.patience().wait(lambda: machine.now_s > 500, 0.5) is None
    machine = Machine({0: 0.0}, bytes_a_second=IDLE_BYTES / 100)
    assert machine.patience().wait(never, 0.5) == "did nothing for 30 s"


def test_a_process_that_ends_ends_the_wait_at_once_unless_what_was_waited_for_has_come() -> None:
    machine = Machine({0: 1.0}, ends_at_s=7)
    assert machine.patience().wait(never, 0.5) == "ended"
    assert machine.now_s == pytest.approx(7, abs=1.1)
    machine = Machine({0: 1.0}, ends_at_s=7)
    came = iter([False] * 15 + [True])  # between the last poll and the end
    assert machine.patience().wait(lambda: next(came), 0.5) is None


def test_a_process_that_its_runner_starts_again_does_not_end_the_wait() -> None:
    machine, names = Machine({0: 1.0}), count()  # each has ended when it is looked at, and is not named again
    assert machine.patience(named=lambda: [next(names)]).wait(never, 0.5) == "did nothing for 30 s"


def test_what_a_runner_left_behind_when_it_ended_is_its_family_still() -> None:
    machine, runners = Machine({0: 1.0}), [[FATHER]] * 2
    patience = machine.patience(named=lambda: runners.pop() if runners else [])
    assert patience.wait(never, 0.5) == "used 90 s of processor time"


def test_where_no_process_is_named_nothing_is_done() -> None:
    machine = Machine({0: 0.0}, ends_at_s=0)
    assert machine.patience(named=tuple).wait(never, 0.5) == "did nothing for 30 s"


def test_a_condition_is_polled_often_and_processes_are_looked_at_once_a_second() -> None:
    machine, polls = Machine({0: 1.0}), 0

    def polled() -> bool:
        nonlocal polls
        polls += 1
        return machine.now_s >= 10

    assert machine.patience().wait(polled, 0.05) is None
    assert polls >= 200
    assert len(machine.looks) <= 13


def test_each_wait_counts_from_its_own_begin() -> None:
    machine = Machine({0: 1.0})
    patience = machine.patience(budget_s=20)
    for until_s in (15, 30, 45):
        assert patience.wait(lambda until_s=until_s: machine.now_s >= until_s, 0.5) is None  # type: ignore[misc]
    assert patience.wait(never) == "used 20 s of processor time"
    assert patience.used_s == pytest.approx(20, abs=1.1)


@pytest.mark.parametrize(
    ("before", "after", "used_s"),
    [
        pytest.param(family(father=(1, 0)), family(father=(3, 0)), 2, id="it works"),
        pytest.param(family(father=(1, 0)), family(father=(1, 0), son=(4, 1)), 5, id="a new child counts in full"),
        pytest.param(family(father=(1, 0), son=(4, 0)), family(father=(1, 4.5)), 0.5, id="a child ends"),
        pytest.param(
            family(father=(1, 0), son=(4, 0), grandson=(2, 0)), family(father=(1, 7)), 1, id="a child and its own end"
        ),
        pytest.param(
            family(father=(1, 0), son=(4, 0)), family(father=(2, 0)), 1, id="a child ends that nobody waits for"
        ),
        pytest.param(family(father=(1, 0), son=(4, 0)), family(son=(6, 0)), 2, id="the father ends"),
        pytest.param(family(father=(1, 0)), family(father=(1, 3)), 3, id="a child came and ended between two looks"),
    ],
)
def test_what_a_family_used_is_neither_lost_nor_counted_twice(
    before: dict[str, Reading], after: dict[str, Reading], used_s: float
) -> None:
    assert spent(before, after).cpu_s == pytest.approx(used_s)


def test_a_process_that_gives_way_and_gets_no_core_is_at_work() -> None:
    machine = Machine({0: 0.0}, gives_way_from_s=0)
    assert machine.patience().wait(lambda: machine.now_s >= 300) is None
    machine = Machine({0: 0.0}, gives_way_from_s=0, gives_way_until_s=10)
    assert (machine.patience().wait(never) or "").startswith("did nothing for 3")
    assert 40 <= machine.now_s < 42


def test_how_long_a_process_gave_way_is_read() -> None:
    busy = "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nwhile True: pass"
    idle = f"import os\nos.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))\n{busy}"
    with running(busy) as others, running(idle) as process:
        until(lambda: readings([process])[process].gave_way_s > 0.2, of=[process])
        assert readings([others])[others].gave_way_s == 0.0  # it gives way to nobody
        others.kill()
        process.kill()


BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


@contextmanager
def running(program: str) -> Iterator[psutil.Popen]:
    with psutil.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        yield process
        with suppress(psutil.NoSuchProcess):
            process.kill()


def test_a_real_family_is_read_with_the_child_that_ended_and_the_one_that_lives() -> None:
    child = f"[sys.executable, '-c', {BURN + 'print(1, flush=True); input()'!r}]"
    ended = f"subprocess.run([sys.executable, '-c', {BURN!r}])"
    with running(f"import subprocess, sys\n{ended}\nsubprocess.run({child})") as process:
        assert process.stdout.readline() == b"1\n"
        read = readings([process])
        assert len(read) == 2
        assert read[process].children_s >= 0.28
        [live] = (each for key, each in read.items() if key != process)
        assert live.cpu_s >= 0.28
        assert live.parent_pid == process.pid
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert readings([process])[process].is_over
        process.wait()
        assert readings([process]) == {}
        psutil.Process(live.pid).kill()


def test_until_ends_as_soon_as_it_holds_and_says_what_was_in_vain() -> None:
    with running("input()") as process:
        until(process.is_running, of=[process])
        process.kill()
        process.wait()
        with pytest.raises(AssertionError, match=r"^waited in vain: what was waited for ended\nits last words"):
            until(never, of=[process], tell=lambda: "its last words")


def test_until_counts_all_that_this_test_started() -> None:
    with running("while True: pass"), pytest.raises(AssertionError, match=r"used \d s of processor time$"):
        until(never, budget_s=0.1)
