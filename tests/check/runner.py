"""Runs stages, times them by the clock, and says what each took beside its budget."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

from tests.check.ledger import LAST_RUNS, ROOT, is_over, read_run, run_file, write_run
from tests.check.stages import Stage


@dataclass(frozen=True)
class Outcome:
    """How a stage ended."""

    stage: str
    seconds: float
    is_passed: bool


def run_stages(
    stages: Iterable[Stage], *, keep_going: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Outcome]:
    """Run one stage after the other, until one fails; all of them if it shall `keep_going`."""
    for stage in stages:
        print(f"\n== {stage.name}", flush=True)
        began = clock()
        is_passed = run_stage(stage)
        yield Outcome(stage.name, clock() - began, is_passed)
        if not is_passed and not keep_going:
            return


def run_stage(stage: Stage) -> bool:
    """Run the commands of a stage side by side; say whether all did well."""
    with busy_processes(stage.busy), ExitStack() as files:
        first, *others = stage.commands
        told = [files.enter_context(TemporaryFile()) for _ in others]
        started = [
            subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT)
            for command, file in zip(others, told, strict=True)
        ]
        statuses = [subprocess.run(first, cwd=ROOT, check=False).returncode, *(each.wait() for each in started)]
        for command, file in zip(others, told, strict=True):  # whole, not in between the lines of the first
            file.seek(0)
            print(f"-- {' '.join(command)}", file.read().decode(errors="replace"), sep="\n", end="", flush=True)
    return not any(statuses)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep as many cores busy, while the block runs, as far as the machine has them."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def keep(outcome: Outcome, folder: Path = LAST_RUNS) -> None:
    """Keep for the ledger what a stage took; one that failed took less than it needs, and says nothing."""
    path = run_file(outcome.stage, folder)
    if outcome.is_passed:
        write_run(replace(read_run(path), seconds=outcome.seconds), path)


def summary(outcomes: Iterable[Outcome], budgets: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each stage, and one for all."""
    outcomes = list(outcomes)
    yield f"{'stage':24}{'seconds':>8}{'budget':>8}"
    for each in outcomes:
        budget = budgets.get(each.stage)
        grown = " has grown over its budget" if is_over(each.seconds, budget) else ""
        failed = "" if each.is_passed else " FAILED"
        yield f"{each.stage:24}{each.seconds:8.0f}{budget if budget is not None else '-':>8}{failed}{grown}"
    yield f"{'all':24}{sum(each.seconds for each in outcomes):8.0f}"


def is_well(outcomes: Iterable[Outcome], budgets: Mapping[str, int], *, may_grow: bool) -> bool:
    """Whether all stages passed, each within its budget unless it `may_grow`."""
    return all(each.is_passed and (may_grow or not is_over(each.seconds, budgets.get(each.stage))) for each in outcomes)
