"""A command of the system, run to its end before what comes next: the topics, the sensors, a rebuild."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import IO

import psutil

from deploy.host.machine import ROOT, LocalError
from deploy.host.patience import Patience

BUDGET_S = 120.0  # of processor time, for all tries; one takes about a second of it
#: A broker that starts beside other things answers after more than the few seconds that a command grants it.
TRIES = 20


def run_command(module: Sequence[str], environ: dict[str, str]) -> None:
    """Run ``python -m module...`` from the checkout to its end, again where it says that this may help.

    A `LocalError` with what it said on stderr, where it fails.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        tries = _Tries([sys.executable, "-m", *module], environ, said)
        try:
            why = Patience(lambda: [tries.running], BUDGET_S).wait(tries.are_over)
        finally:
            tries.end()
        if why or tries.running.returncode != 0:
            said.seek(0)
            raise LocalError(f"{module[0]} failed: {'it ' + why if why else said.read().strip()}")


class _Tries:
    def __init__(self, command: list[str], environ: dict[str, str], said: IO[str]) -> None:
        self._command, self._environ, self._said = command, environ, said
        self._count = 0
        self._begin()

    def _begin(self) -> None:
        self._count += 1
        self._said.seek(0)
        self._said.truncate()
        self.running = psutil.Popen(
            self._command, cwd=ROOT, env=self._environ, stdout=subprocess.DEVNULL, stderr=self._said
        )

    def are_over(self) -> bool:
        """Whether the last try has ended; where it says that another may help, there is one more."""
        code = self.running.poll()
        if code == os.EX_TEMPFAIL and self._count < TRIES:
            self._begin()
            return False
        return code is not None

    def end(self) -> None:
        """Leave nothing running."""
        if self.running.poll() is None:
            self.running.kill()
            self.running.wait()
