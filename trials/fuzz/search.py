"""Searching all targets, as many at a time as the machine has cores, each in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from deploy.host.machine import ROOT
from trials.fuzz.target import file_name

GRACE_S = 900  # to read our modules, and to end
ENDED_BY_LIBFUZZER = {70: "it hung", 71: "it took too much memory", 77: "it crashed"}


class Searched(NamedTuple):
    """What came of one target."""

    target: str
    inputs: int
    took_s: float
    findings: Sequence[str]  # a line for each


@dataclass(frozen=True)
class Search:
    """One run: how long all of it may take, what the random numbers begin with, and where findings go."""

    seconds: float
    seed: int
    folder: Path
    corpus: Path

    def of(self, targets: Sequence[str]) -> Iterator[Searched]:
        """Yield what came of each target, in their order."""
        at_once = min(len(targets), os.cpu_count() or 1)
        each_s = max(1, round(self.seconds * at_once / len(targets)))
        with ThreadPoolExecutor(at_once) as pool:
            yield from pool.map(lambda target: self._one(target, each_s), targets)

    def _one(self, target: str, seconds: int) -> Searched:
        options = {
            "seconds": seconds,
            "seed": self.seed,
            "folder": self.folder,
            "corpus": self.corpus / file_name(target),
        }
        command = [sys.executable, "-m", "trials.fuzz.guided", target]
        command += [text for name, value in options.items() for text in (f"--{name}", str(value))]
        log = self.folder / f"{file_name(target)}.log"
        memory = Path("/dev/shm")  # where writing a small file is fast
        with TemporaryDirectory(dir=memory if memory.is_dir() else None) as own, log.open("wb") as out:
            status = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, "TMPDIR": own},
                stdout=out,
                stderr=out,
                timeout=seconds + GRACE_S,
                check=False,
            ).returncode
        return self._searched(target, status, log)

    def _searched(self, target: str, status: int, log: Path) -> Searched:
        told = self.folder / f"{file_name(target)}.json"
        said: dict[str, Any] = {"inputs": 0, "took_s": 0, "findings": []}
        if told.exists():
            said = json.loads(told.read_text(encoding="utf-8"))
        findings = [
            f"{each['what']} at {each['place']}: {repeat_command(target, self.folder / each['name'])}.input"
            for each in said["findings"]
        ]
        if status:
            findings.append(f"{ENDED_BY_LIBFUZZER.get(status, f'exit status {status}')}: {log}")
        return Searched(target, said["inputs"], said["took_s"], findings)


def repeat_command(target: str, content: Path) -> str:
    """Return the command that tries an input again."""
    return f"python -m trials.fuzz --repeat '{target}' {content}"


HEAD = """\
| target | inputs | a second | findings |
|---|---|---|---|"""


def table(searched: Sequence[Searched]) -> str:
    """Return a line for each target."""
    return "\n".join([HEAD, *map(_line, searched)])


def _line(each: Searched) -> str:
    return f"| {each.target} | {each.inputs:,} | {each.inputs / max(each.took_s, 1e-9):,.0f} | {len(each.findings)} |"
