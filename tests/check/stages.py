"""What `make check` and `make check-all` run, stage after stage. ``tests/ledger.csv`` has a budget for each."""

import os
import sys
from dataclasses import dataclass

from tests.check.ledger import run_file

#: Tests of systems wait for processes, pages and the disk: on two cores two workers leave a quarter of them idle.
WORKERS_BEYOND_CORES = 1


@dataclass(frozen=True)
class Stage:
    """Commands that run beside each other, and processes beside them that do nothing but keep cores busy."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    busy: int = 0


PYTEST = (sys.executable, "-m", "pytest")


def kept(name: str, *options: str) -> Stage:
    """Return a stage that is a run of pytest, for which the ledger keeps what each file takes."""
    return Stage(name, ((*PYTEST, f"--ledger={run_file(name)}", *options),))


def spread() -> tuple[str, ...]:
    """Return the options by which tests run side by side, see `tests.check.groups`."""
    return (f"--numprocesses={len(os.sched_getaffinity(0)) + WORKERS_BEYOND_CORES}", "--dist=loadgroup")


#: The set-up comes before: it makes the Python that runs these.
SET_UP = "set-up"


def check_stages() -> list[Stage]:
    """Return the stages of `make check`."""
    return [
        Stage("lint-and-warm-up", (("make", "lint"), ("make", "warm"))),
        kept("tests", "-m", "not night", *spread()),
    ]


def night_stages() -> list[Stage]:
    """Return what `make check-all` does beyond: what takes long, what is random, and what needs the whole machine."""
    at_random = ("-m", "not jvm and not night", "--hypothesis-profile=random", *spread())
    killed = ("-m", "not night", "--only-group=kafka")
    bare = [Stage("bare-machine", (("make", "bare-machine"),))] if os.geteuid() == 0 else []  # nobody else may
    return [
        kept("night", "-m", "night"),
        Stage("random-seeds", ((*PYTEST, *at_random),)),
        Stage("kafka-beside-a-load", ((*PYTEST, *killed),), busy=4),
        Stage("mutations", (("make", "mutations"),)),
        Stage("benchmarks", (("make", "bench", "QUICK=1"),)),
        Stage("drill", (("make", "drill"),)),
        Stage("chaos", (("make", "chaos", "SOAK=5m"),)),
        Stage("fuzz", (("make", "fuzz", "FUZZ=10m"),)),
        *bare,
    ]
