"""``python -m deploy.local up|down|backup|...``: what the Makefile's targets of these names run."""

import argparse
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from deploy.host.machine import RUNTIME, LocalError, exit_with
from deploy.local.backup import back_up, open_backup, put_back, put_configuration_back
from deploy.local.demo import run_demo
from deploy.local.layout import Layout
from deploy.local.monitor import run_monitor
from deploy.local.start_progress import shown
from deploy.local.supervision import PRIVATE
from deploy.local.system import HARBOUR, OF_ARCHIVE, PROCESSES, HaltedError, PartlyUpError, System
from services.backup.folder import in_words
from services.common.access.keys_topic import present_keys
from services.common.kafka.kafka_log import KafkaLog
from services.common.settings import CONFIG_VARIABLE
from services.common.topics.log_clients import LogClients
from services.demo.programme import DemoError

POLL_S = 0.5
CAUGHT_UP = 0.99  # some always wait where detections come all the time


def rebuilt_shares(waiting: Callable[[], int | None]) -> Iterator[float]:
    """Yield which share of the records that waited has been read, until all are but what comes all the time."""
    most = 0
    while True:
        left = waiting()
        if left is not None:
            most = max(most, left)
            if left <= (1 - CAUGHT_UP) * most:
                yield 1.0
                return
            yield 1 - left / most
        time.sleep(POLL_S)


def _start(system: System, *, rebuild: bool = False) -> None:
    with shown() as report:
        system.up(report, rebuild=rebuild)


def _end_in_order() -> None:
    """Have the first Ctrl-C or SIGTERM end what goes on; a second one must not leave half of it running."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, interrupt)


def _up(system: System) -> None:
    _end_in_order()
    missing: PartlyUpError | None = None
    try:
        _start(system, rebuild=_is_set("REBUILD"))
    except PartlyUpError as error:
        missing = error
    for name in ("console", "ingest", "alerting", "fusion"):
        print(f"{name:<9} {system.layout.url(name)}")
    print(f"logs      {system.layout.logs}")
    if system.layout.needs_key and not _has_keys(system):
        print("Every request needs a key, and there is none yet. Make the first: make key")
    if missing is not None:
        raise missing


def _has_keys(system: System) -> bool:
    log = KafkaLog(system.layout.kafka, system.layout.topic_names)
    return bool(present_keys(LogClients(log, system.layout.topic_names)))


def _down(system: System) -> None:
    killed = system.down()
    if killed:
        raise LocalError(f"these did not stop in order and were killed: {', '.join(killed)}")
    print("The system is down.")


def _stop(system: System) -> None:
    names = os.environ.get("NAMES", "").split()
    system.stop(names)
    print(f"Stopped: {', '.join(names)}. make up starts what is stopped.")


def _status(system: System) -> None:
    for name, state in system.status().items():
        print(f"{name:<9} {state}")


def _logs(system: System) -> None:
    logs = system.layout.logs
    names = [*PROCESSES, *(name for name in (*OF_ARCHIVE, HARBOUR) if (logs / f"{name}.log").exists())]
    files = [str(logs / f"{name}.log") for name in names]
    follower = shutil.which("tail")
    if follower is None or not any(map(os.path.exists, files)):
        raise LocalError(f"there are no logs to follow in {logs}")
    os.execv(follower, [follower, "-n", "20", "-F", *files])  # noqa: S606 - no shell is the point


def _demo(system: System) -> None:
    _end_in_order()
    try:
        _start(system)
    except HaltedError:
        raise
    except PartlyUpError as missing:  # the demo does without
        print(f"coincide: {missing}")
    try:
        run_demo(system, detach=_is_set("DETACH"))
    except DemoError as error:
        raise LocalError(str(error)) from error


def _monitor(system: System) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run_monitor(system.layout)


def _rebuild(system: System) -> None:
    """Rebuild, and show how far it is; Ctrl-C ends what is shown, and not the rebuild."""
    system.rebuild()
    if system.layout.needs_key:
        print("Fusion begins anew. The console's page Health shows what still waits.")
        return
    shown = (TextColumn("rebuild"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*shown) as progress:
        task = progress.add_task("rebuild", total=None)
        for share in rebuilt_shares(system.waiting_detections):
            progress.update(task, total=1.0, completed=share)
    print("All answers are anew.")


def _backup(system: System) -> None:
    print(in_words(back_up(system, _folder("TO"))))


def _restore(_system: System) -> None:
    folder = _folder("FROM")
    manifest = open_backup(folder)
    put_configuration_back(folder, manifest)
    put_back(folder, manifest, System(Layout.of_checkout()))  # whose places the configuration has just named
    print(f"{in_words(manifest)} It is restored: make up starts it.")


def _folder(name: str) -> Path:
    named = os.environ.get(name, "")
    if not named:
        raise LocalError(f"say which folder: make {'backup' if name == 'TO' else 'restore'} {name}=FOLDER")
    return Path(named).expanduser().absolute()


def _is_set(name: str) -> bool:
    return os.environ.get(name, "") not in {"", "0"}


_COMMANDS = {
    "up": _up,
    "down": _down,
    "stop": _stop,
    "status": _status,
    "logs": _logs,
    "demo": _demo,
    "monitor": _monitor,
    "rebuild": _rebuild,
    "backup": _backup,
    "restore": _restore,
}


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description="The whole system on this machine.")
    parser.add_argument("command", choices=_COMMANDS)
    command = parser.parse_args().command
    os.umask(PRIVATE)
    if command == "demo":  # it plays what is in config/
        os.environ.pop(CONFIG_VARIABLE, None)
    overrides = {"COINCIDE_ARCHIVE_PATH": json.dumps(str(RUNTIME / "archive"))} if command == "demo" else {}
    _COMMANDS[command](System(Layout.of_checkout(overrides=overrides)))


if __name__ == "__main__":
    exit_with(_main)
