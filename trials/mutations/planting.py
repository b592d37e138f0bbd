"""Planting: a mutation is put into a copy of the checkout, its tests run there, and it is taken out again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Self

from trials.mutations.mutation import Mutation

Outcome = Literal["caught", "ESCAPED", "no longer applies", "not judged"]
Run = subprocess.CompletedProcess[str]

PASSED, FAILED = 0, 1  # exit statuses of pytest; others say that it could not run what it was to run
PYTEST = ("-m", "pytest", "-q", "-x", "-m", "not jvm and not slow", "-p", "no:cacheprovider", "--hypothesis-seed=0")
#: A mutated file may be as long and as old, to the second, as the one that Python compiled before.
WITHOUT_OLD_CODE = {"PYTHONDONTWRITEBYTECODE": "1"}


@dataclass(frozen=True)
class Verdict:
    """What became of a mutation; `said` are the last lines of pytest or git where that is no good end."""

    mutation: Mutation
    outcome: Outcome
    said: str = ""

    def __str__(self) -> str:
        lines = (f"{self.outcome}: {self.mutation.name}: {self.mutation.sentence}", *self.said.splitlines()[-12:])
        return "\n    ".join(lines)


@dataclass(frozen=True)
class Copy:
    """A copy of a checkout as it stands, changes that nobody has committed included."""

    folder: Path
    _unplanted: dict[tuple[str, ...], Run] = field(default_factory=dict)

    @classmethod
    def of(cls, checkout: Path, folder: Path) -> Self:
        """Copy what git knows, or would know, of a checkout into a folder, and link its environment."""
        listed = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        names = subprocess.run(listed, cwd=checkout, check=True, capture_output=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            if (checkout / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(checkout / name, folder / name, follow_symlinks=False)
        if (checkout / ".venv").exists():
            (folder / ".venv").symlink_to((checkout / ".venv").resolve())
        return cls(folder)

    def judge(self, mutation: Mutation) -> Verdict:
        """Plant a mutation, and tell whether its tests notice it, which pass without it."""
        before = self._unplanted.get(mutation.tests)
        if before is None:
            before = self._unplanted[mutation.tests] = self._run(mutation.tests)
        if before.returncode != PASSED:
            return Verdict(mutation, "not judged", f"without it its tests do not pass\n{before.stdout.strip()}")
        with self._planted(mutation) as refusal:
            if refusal:
                return Verdict(mutation, "no longer applies", refusal)
            run = self._run(mutation.tests)
        if run.returncode == FAILED:
            return Verdict(mutation, "caught")
        return Verdict(mutation, "ESCAPED" if run.returncode == PASSED else "not judged", run.stdout.strip())

    @contextmanager
    def _planted(self, mutation: Mutation) -> Iterator[str]:
        """Plant a mutation until the block ends; what git says where it does not fit."""
        refusal = self._apply(mutation)
        yield refusal
        if not refusal:
            left = self._apply(mutation, "--reverse")
            assert not left, left

    def _apply(self, mutation: Mutation, *options: str) -> str:
        done = self._done("git", "apply", *options, str(mutation.patch.resolve()))
        return done.stdout.strip() if done.returncode else ""

    def _run(self, tests: tuple[str, ...]) -> Run:
        return self._done(sys.executable, *PYTEST, *tests)

    def _done(self, *command: str) -> Run:
        # Else git would take the copy for a folder of a repository around it, and leave out what lies in it.
        around = {"GIT_CEILING_DIRECTORIES": str(self.folder.resolve().parent)}
        environment = {**os.environ, **WITHOUT_OLD_CODE, **around}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
