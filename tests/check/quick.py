"""``python -m tests.check.quick`` (`make quick`): judge a change within 90 s, on two cores that have run it before.

The change is what differs from where the branch left its upstream, or else main, committed or not. Its lint, all types
and import rules; its tests and those that it reaches, nearest first, as many as fit. Without what is slow, needs
a JVM or runs at night, and with few examples: only `make check` judges the whole.
"""

import re
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.check.ledger import ROOT, known_seconds
from tests.check.reach import distances
from tests.check.runner import run_stages, summary
from tests.check.stages import PYTEST, Stage, spread

#: The last test begins this long after the start, or a little later where lint took longer.
END_S = 80.0
#: What the chosen files may take all together, by what they took in a check. Two workers share it.
TESTS_S = 80.0
#: What a file takes of which nobody knows, as most do in a fresh clone.
UNKNOWN_S = 1.5
QUICK = ("-m", "not jvm and not slow and not night", "--hypothesis-profile=quick", "-q")
NOT_QUICK = re.compile(r"^pytestmark\b.*\bmark\.(jvm|slow|night)\b", re.MULTILINE)


@dataclass(frozen=True)
class Choice:
    """The files of tests that changed, those that are reached and run, and those that are reached but do not fit."""

    changed: list[str]
    reached: list[str]
    left: list[str]


def changed_files(root: Path = ROOT) -> list[str]:
    """Return the files that differ from where this branch left its upstream, or main, but for deleted ones."""
    bases = (_git(root, "merge-base", "HEAD", each) for each in ("@{u}", "origin/main", "main"))
    changed = _git(root, "diff", "--name-only", "-z", next(filter(None, bases), "HEAD"))
    new = _git(root, "ls-files", "-z", "--others", "--exclude-standard")
    return sorted({name for name in (changed + new).split("\0") if name and (root / name).is_file()})


def _git(root: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip("\n") if done.returncode == 0 else ""


def choose(
    reached: Mapping[str, int], changed: Collection[str], seconds: Mapping[str, float], root: Path = ROOT
) -> Choice:
    """Choose what is quick: the files of tests that changed, and others, nearest first, as long as they fit."""
    quick = [path for path in reached if not NOT_QUICK.search((root / path).read_text(encoding="utf-8"))]
    chosen = Choice([path for path in quick if path in set(changed)], [], [])
    taken = 0.0
    folders = [{*Path(path).parts[:-1]} for path in changed]
    others = sorted(set(quick) - set(chosen.changed), key=lambda path: (reached[path], -_shared(path, folders), path))
    for path in others:
        takes = seconds.get(path, UNKNOWN_S)
        fits = taken + takes <= TESTS_S
        taken += takes if fits else 0
        (chosen.reached if fits else chosen.left).append(path)
    return chosen


def _shared(path: str, folders: Iterable[set[str]]) -> int:
    """Return how many folders' names a test shares with a change, at most: tests lie as what they test lies."""
    return max((len(each.intersection(Path(path).parts)) for each in folders), default=0)


def lint(changed: Iterable[str]) -> Stage:
    """Return the lint of what changed, and of all where that takes no longer."""
    python, commands = [path for path in changed if path.endswith(".py")], []
    bin_ = Path(sys.executable).parent
    if python:
        commands += [(f"{bin_}/ruff", "check", *python), (f"{bin_}/ruff", "format", "--check", *python)]
    return Stage("lint", ((sys.executable, "-m", "mypy"), *commands, (f"{bin_}/lint-imports",)))


def tests(choice: Choice, end_s: float) -> list[Stage]:
    """Return the run of what changed, whatever it takes, and of what is reached, until the end."""
    runs = {"changed-tests": (choice.changed, ()), "reached-tests": (choice.reached, (f"--until={end_s}",))}
    return [
        Stage(name, ((*PYTEST, *QUICK, *until, *spread(), *files),)) for name, (files, until) in runs.items() if files
    ]


def say(changed: list[str], reached: Mapping[str, int], choice: Choice) -> None:
    """Say what is run, and what is not."""
    print(f"{len(changed)} files changed; tests in {len(reached)} files are reached. Run are these:")
    print(*(f"  {path}" for path in choice.changed), sep="\n")
    print(*(f"  {path}, reached by {reached[path]} imports" for path in choice.reached), sep="\n")
    if choice.left:
        print(f"Left out, for they do not fit: {len(choice.left)} files, {choice.left[0]} the nearest.")
    print("Left to make check: tests that are slow, need a JVM or run at night.", flush=True)


def main() -> int:
    end_s = time.time() + END_S
    changed = changed_files()
    if not changed:
        print("Nothing has changed.")
        return 0
    reached = distances(changed)
    choice = choose(reached, changed, known_seconds())
    say(changed, reached, choice)
    stages = [lint(changed), *tests(choice, end_s)]
    outcomes = list(run_stages(stages, keep_going=True))
    print("", *summary(outcomes, {}), sep="\n")
    return 0 if all(each.is_passed for each in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
