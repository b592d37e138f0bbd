"""``python -m deploy.local up|down|status|logs|demo``: what the Makefile's targets of these names run."""

import argparse
import os
import shutil

from deploy.local.demo import run_demo
from deploy.local.failure import LocalError, exit_with
from deploy.local.layout import Layout
from deploy.local.progress import shown
from deploy.local.system import PROCESSES, System


def _up(system: System) -> None:
    with shown() as report:
        system.up(report, rebuild=_is_set("REBUILD"))
    for name in ("ingest", "alerting", "fusion"):
        print(f"{name:<9} {system.layout.url(name)}")
    print(f"logs      {system.layout.logs}")


def _down(system: System) -> None:
    killed = system.down()
    if killed:
        raise LocalError(f"these did not stop in order and were killed: {', '.join(killed)}")
    print("The system is down.")


def _status(system: System) -> None:
    for name, state in system.status().items():
        print(f"{name:<9} {state}")


def _logs(system: System) -> None:
    files = [str(system.layout.logs / f"{name}.log") for name in PROCESSES]
    follower = shutil.which("tail")
    if follower is None or not system.layout.logs.is_dir():
        raise LocalError(f"there are no logs to follow in {system.layout.logs}")
    os.execv(follower, [follower, "-n", "20", "-F", *files])  # noqa: S606 - no shell is the point


def _demo(system: System) -> None:
    run_demo(system, detach=_is_set("DETACH"))


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in {"", "0"}


_COMMANDS = {"up": _up, "down": _down, "status": _status, "logs": _logs, "demo": _demo}


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description="The whole system on this machine.")
    parser.add_argument("command", choices=_COMMANDS)
    _COMMANDS[parser.parse_args().command](System(Layout.of_checkout()))


if __name__ == "__main__":
    exit_with(_main)
