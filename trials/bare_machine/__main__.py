"""``python -m trials.bare_machine``: a minimal Debian, a clone of what is committed, and the README's two commands."""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from deploy.host.machine import RUNTIME, LocalError, exit_with, is_free
from trials.bare_machine import network
from trials.bare_machine.machine import CHECKOUT, bare_folder, clone, debootstrap, inside, run

#: What runs in the machine. A demo that is left running ends with the command, and so is stopped in order before.
COMMANDS = {
    "demo": "make demo DETACH=1\nmake status\nmake down",
    "setup-check": "make setup-check",
    "check": "make check",
}
USUAL = ("demo", "check")
#: Where the demo listens; the machine shares the network with this one.
PORTS = (8000, 8010, 8020, 8030, 8040, 8050, 9092, 9093)


def try_out(folder: Path, suite: str, names: Sequence[str], log: Path, *, kept: bool) -> int:
    """Return how many of the commands failed."""
    if "demo" in names and (taken := [port for port in PORTS if not is_free(port)]):
        raise LocalError(f"the demo needs the ports {', '.join(map(str, taken))}, on which somebody listens: make down")
    packages, _ = network.mirrors()
    with bare_folder(folder, kept=kept) as root:
        _timed("debootstrap", debootstrap(root, suite, packages), log)
        network.take_over(root, suite)
        _timed("authorities", inside(root, "update-ca-certificates", {}), log)
        _timed("clone", clone(root), log)
        environ = network.variables()
        scripts = {name: f"cd {CHECKOUT}\n{COMMANDS[name]}" for name in names}
        return sum(bool(_tried(name, inside(root, script, environ), log)) for name, script in scripts.items())


def _timed(name: str, command: list[str], log: Path) -> None:
    if status := _tried(name, command, log):
        raise LocalError(f"{name} ended with {status}; all that it said is in {log}")


def _tried(name: str, command: list[str], log: Path) -> int:
    began_s = time.monotonic()
    status = run(command, log)
    line = f"=== {name}: exit status {status} after {time.monotonic() - began_s:.0f} s\n"
    print(line, end="", flush=True)
    with log.open("a", encoding="utf-8") as copy:
        copy.write(line)
    return status


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.bare_machine", description=__doc__)
    parser.add_argument("--only", choices=COMMANDS, help="one command; without it: demo, then check")
    parser.add_argument("--suite", default="bookworm", help="which Debian (default: bookworm)")
    parser.add_argument("--folder", type=Path, default=RUNTIME / "bare-machine", help="where it is made")
    parser.add_argument("--keep", action="store_true", help="leave it there afterwards")
    given = parser.parse_args()
    if os.geteuid() != 0:
        raise LocalError("a bare machine is made and entered by root alone")
    log = RUNTIME / "logs" / "bare-machine.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        shutil.move(log, log.with_suffix(".log.1"))
    names = [given.only] if given.only else USUAL
    failed = try_out(given.folder.absolute(), given.suite, names, log, kept=given.keep)
    print(f"All that was said is in {log}")
    sys.exit(failed)


if __name__ == "__main__":
    exit_with(_main)
