"""The ledger: what each stage of a check and each slow file of tests took, beside the budget of the stage.

``tests/ledger.csv`` is in the repository. ``.local/ledger/`` has what the last runs took, a file for each stage:
``python -m tests.check.ledger --write`` renews the one from the other. A budget is changed by hand, in a commit
that says why.
"""

import argparse
import csv
import io
import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "tests/ledger.csv"
LAST_RUNS = ROOT / ".local/ledger"
#: A file that takes longer has a line of its own.
SLOW_FILE_S = 20.0
#: A single test that takes longer is named in what a run leaves.
SLOW_TEST_S = 5.0
#: How far a stage may be over its budget.
GROWTH_MAX = 1.1


@dataclass(frozen=True)
class Phases:
    """What the setups, the calls and the teardowns of a test or a file took."""

    setup: float = 0
    call: float = 0
    teardown: float = 0

    @property
    def seconds(self) -> float:
        return self.setup + self.call + self.teardown

    def plus(self, phase: str, seconds: float) -> "Phases":
        return replace(self, **{phase: getattr(self, phase) + seconds})


@dataclass(frozen=True)
class Run:
    """What a stage took when it ran last: by the clock, and each file and each slow test of it."""

    stage: str
    seconds: float = 0
    files: Mapping[str, Phases] = field(default_factory=dict)
    slow_tests: Mapping[str, Phases] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of the ledger; a file of tests has no budget of its own."""

    kind: str
    name: str
    seconds: int | None
    budget: int | None = None


def run_file(stage: str, folder: Path = LAST_RUNS) -> Path:
    """Return where the last run of a stage is kept."""
    return folder / f"{stage}.json"


def write_run(run: Run, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(run), indent=1), encoding="utf-8")


def read_run(path: Path) -> Run:
    """Return the run that was kept there; an empty one of that name where there is none."""
    if not path.is_file():
        return Run(path.stem)
    kept = json.loads(path.read_text(encoding="utf-8"))
    phases = {name: {key: Phases(**each) for key, each in kept[name].items()} for name in ("files", "slow_tests")}
    return Run(kept["stage"], kept["seconds"], **phases)


def last_runs(folder: Path = LAST_RUNS) -> list[Run]:
    return [read_run(path) for path in sorted(folder.glob("*.json"))]


def read_ledger(path: Path = LEDGER) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(row["kind"], row["name"], *(int(row[key]) if row[key] else None for key in ("seconds", "budget")))
            for row in csv.DictReader(file)
        ]


def budgets(rows: Iterable[Row]) -> dict[str, int]:
    """Return the budget of each stage that has one."""
    return {row.name: row.budget for row in rows if row.kind == "stage" and row.budget is not None}


def is_over(seconds: float, budget: float | None) -> bool:
    """Whether a stage that took `seconds` has grown beyond its budget."""
    return budget is not None and seconds > GROWTH_MAX * budget


def seconds_of_files(runs: Iterable[Run]) -> dict[str, float]:
    """Return what each file took in all runs together: some of its tests may run at night only."""
    sums = Counter[str]()
    for run in runs:
        sums.update({name: phases.seconds for name, phases in run.files.items()})
    return dict(sums)


def renewed(rows: Iterable[Row], runs: Sequence[Run]) -> list[Row]:
    """Return the ledger with what the runs took. Budgets stay; a new stage gets what it took, in whole minutes."""
    old = list(rows)
    kept = budgets(old)
    stages = {row.name: row for row in old if row.kind == "stage"}
    files = {row.name: row for row in old if row.kind == "file"}
    for run in runs:
        if run.seconds:
            budget = kept.get(run.stage, 60 * math.ceil(run.seconds / 60))
            stages[run.stage] = Row("stage", run.stage, round(run.seconds), budget)
    for name, seconds in seconds_of_files(runs).items():
        files.pop(name, None)
        if seconds > SLOW_FILE_S:
            files[name] = Row("file", name, round(seconds))
    here = [row for row in files.values() if (ROOT / row.name).is_file()]
    return [*stages.values(), *sorted(here, key=lambda row: (-(row.seconds or 0), row.name))]


def text_of(rows: Iterable[Row]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["kind", "name", "seconds", "budget"])
    writer.writerows(asdict(row).values() for row in rows)
    return text.getvalue()


def known_seconds(ledger: Path = LEDGER, folder: Path = LAST_RUNS) -> dict[str, float]:
    """Return what each file of tests took, as far as anybody knows: here, else where the ledger was written."""
    known = {row.name: float(row.seconds or 0) for row in read_ledger(ledger) if row.kind == "file"}
    return known | seconds_of_files(last_runs(folder))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.check.ledger", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew tests/ledger.csv, which is else printed only")
    text = text_of(renewed(read_ledger(), last_runs()))
    if parser.parse_args(arguments).write:
        LEDGER.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
