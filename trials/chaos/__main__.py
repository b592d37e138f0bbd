"""``python -m trials.chaos``: what ``make chaos`` runs. Exit status 1: something was lost, extra, twice or too slow."""

import argparse
import re
import secrets
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from deploy.host.machine import LocalError, exit_with
from trials.chaos.faults.fault import Fault
from trials.chaos.faults.registry import FAULTS
from trials.chaos.report import balance_table, faults_table, growth_table
from trials.chaos.run import RECORD, Found, Run

_SECONDS = {"s": 1, "m": 60, "h": 3600}


def duration_s(text: str) -> float:
    """Return the seconds that ``30s``, ``10m`` or ``8h`` are."""
    if not (read := re.fullmatch(r"(\d+)([smh])", text)):
        raise argparse.ArgumentTypeError(f"{text!r} is no duration: write 90s, 10m or 8h")
    return int(read[1]) * _SECONDS[read[2]]


def chosen(words: list[str]) -> list[Fault]:
    """Return the faults whose names have one of ``words`` in them; all where none is given."""
    found = [each for each in FAULTS if not words or any(word in each.name for word in words)]
    if not found:
        names = "; ".join(each.name for each in FAULTS)
        raise LocalError(f"no fault has {' or '.join(map(repr, words))} in its name: there are {names}")
    return found


def show(found: Found) -> None:
    """Print the tables of a run."""
    print("", faults_table(found.outcomes), sep="\n")
    if found.balance is not None:
        print("", balance_table(found.balance), sep="\n")
    print("", growth_table(found.growth), sep="\n", flush=True)


def _end_soon(run: Run, *_signal: object) -> None:
    """End the run in order; whoever cannot wait for that asks again."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print("ending after this fault; then comes the balance (Ctrl-C again: stop at once)", flush=True)
    run.end_soon()


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.chaos", description="Try faults on a whole system.")
    parser.add_argument("--soak", type=duration_s, default="10m", help="how long, such as 90s, 10m or 8h")
    parser.add_argument("--seed", type=int, help="draws the order of faults and all else; one is made up if left out")
    parser.add_argument("--rate", type=float, default=50.0, help="detections a second")
    parser.add_argument("--sensors", type=int, default=0, help="how many sensors at least; a few if left out")
    parser.add_argument("--only", action="append", default=[], help="faults whose names have this in them")
    parser.add_argument("--folder", type=Path, help="where the system's files and the record go; kept afterwards")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="coincide-chaos-"))
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    print(f"seed {seed}, record in {folder / RECORD}", flush=True)
    run = Run(folder.absolute(), chosen(given.only), seed, given.soak, given.rate, given.sensors)
    signal.signal(signal.SIGINT, partial(_end_soon, run))
    found = run.run()
    show(found)
    sys.exit(0 if found.is_good else 1)


if __name__ == "__main__":
    exit_with(_main)
