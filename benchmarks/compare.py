"""Compare this checkout with another one: `python -m benchmarks compare --base PATH [NAME ...]`.

Each micro benchmark runs in rounds, in a fresh process each time, by turns with the library of the other checkout and
with the library of this one. The benchmarks are always those of this checkout. CPU time; ratios are of single rounds,
which two checkouts spend in the same phase of the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.harness.declaration import Table
from benchmarks.harness.surroundings import KEEP_MEMORY, machine

HERE = Path(__file__).resolve().parents[1]
WORKER = """
import importlib.util, json, sys
home, name = sys.argv[1:]
where = {"submodule_search_locations": [home + "/benchmarks"]}
spec = importlib.util.spec_from_file_location("benchmarks", home + "/benchmarks/__init__.py", **where)
sys.modules["benchmarks"] = importlib.util.module_from_spec(spec)
from benchmarks.micro import measured
print(json.dumps(measured(name)))
"""


def measured_in(checkout: Path, name: str) -> tuple[float, object]:
    """Run one micro benchmark on the library of a checkout; return microseconds an item, and the answer."""
    environ = {**os.environ, **KEEP_MEMORY}
    environ.pop("PYTHONPATH", None)  # the library comes from where the process runs
    command = [sys.executable, "-c", WORKER, str(HERE), name]
    ran = subprocess.run(command, cwd=checkout, env=environ, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"{name} failed in {checkout}:\n{ran.stderr}")
    cost_us, answer = json.loads(ran.stdout)
    return float(cost_us), answer


def turn(base: Path, name: str, *, base_first: bool) -> list[tuple[float, object]]:
    """Run one micro benchmark on both; return the results of the base, then of this checkout."""
    order = (base, HERE) if base_first else (HERE, base)
    results = [measured_in(checkout, name) for checkout in order]
    return results if base_first else results[::-1]


def rows(base: Path, names: Sequence[str], rounds: int) -> Iterator[list[str]]:
    """Yield a row for each benchmark: how many times as long the base takes, round by round, and what an item costs."""
    for name in names:
        turns = [turn(base, name, base_first=nth % 2 == 0) for nth in range(rounds)]
        base_us, here_us = ([cost_us for cost_us, _ in results] for results in zip(*turns, strict=True))
        ratios = sorted(of_base / of_here for of_base, of_here in zip(base_us, here_us, strict=True))
        (_, base_answer), (_, here_answer) = turns[-1]
        agree = "yes" if base_answer == here_answer else f"NO: {base_answer}, here {here_answer}"
        costs = [f"{statistics.median(each):.3g}" for each in (base_us, here_us)]
        yield [name, f"{statistics.median(ratios):.2f}", f"{ratios[0]:.2f} – {ratios[-1]:.2f}", *costs, agree]


def compare(words: Sequence[str]) -> int:
    from benchmarks.micro import MICRO

    parser = argparse.ArgumentParser(prog="python -m benchmarks compare", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(MICRO)}; none: all")
    parser.add_argument("--base", type=Path, required=True, metavar="PATH", help="the other checkout")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each checkout (default: %(default)s)")
    given = parser.parse_args(words)
    if unknown := set(given.names) - set(MICRO):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(MICRO)}")
    headings = ("benchmark", "base / here", "least to most", "base µs an item", "here µs", "same answer")
    for line in Table(headings, rows(given.base.resolve(), given.names or list(MICRO), given.rounds)).lines():
        print(line, flush=True)
    print(f"\n{machine()}; medians of {given.rounds} rounds, CPU time")
    return 0
