"""One real Apache Kafka on this machine: KRaft, one node, data in a folder.

``python -m deploy.local.broker FOLDER PORT CONTROLLER_PORT`` turns into the broker (the same process, so that
signals reach it); `Broker` runs one from Python.
"""

import argparse
import base64
import os
import shlex
import shutil
import signal
import socket
import string
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

import psutil
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from deploy.host.machine import LocalError, exit_with, free_ports
from deploy.host.patience import Patience, suspend
from deploy.jvm.class_archives import class_archives, use_option
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from deploy.local.layout import HERE
from services.common.kafka.connection import KafkaConnection

START_BUDGET_S = 120.0  # of processor time; a start takes some 8 s of it, one after a crash more
STOP_TIMEOUT_S = 30.0
ROOM_BYTES = 32 << 20  # what it writes at its start is less
LOOK_EVERY_S = 0.5


def prepare(folder: Path, port: int, controller_port: int, further: Mapping[str, str] | None = None) -> list[str]:
    """Return the command that runs a broker on ``folder``, formatted first where it has no data yet.

    ``further`` properties go before those of ``kafka.properties``.
    """
    java = find_java()
    logging = f"-Dlog4j2.configurationFile={(HERE / 'log4j2.properties').as_uri()}"
    archive = class_archives(java.home).broker
    classpath = ["-cp", f"{ensure_jars(java).broker}/*", logging]
    properties = _write_properties(folder, port, controller_port, further or {})
    if not (folder / "data" / "meta.properties").exists():
        _format([str(java.executable), *use_option(archive), *classpath], properties)
    # KAFKA_OPTS: further options, as Kafka's own scripts take them
    options = ["-Xmx512m", "-XX:+UseSerialGC", *use_option(archive), *shlex.split(os.environ.get("KAFKA_OPTS", ""))]
    return [str(java.executable), *options, *classpath, "kafka.Kafka", str(properties)]


def wait_for_room(folder: Path) -> None:
    """Return once the disk of ``folder`` has room for a start: Kafka would end at once, and be tried less and less."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if shutil.disk_usage(there).free < ROOM_BYTES:
        print(f"Kafka starts once the disk of {there} has {ROOM_BYTES >> 20} MB left", flush=True)
    while shutil.disk_usage(there).free < ROOM_BYTES:
        time.sleep(LOOK_EVERY_S)


def _write_properties(folder: Path, port: int, controller_port: int, further: Mapping[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    template = string.Template((HERE / "kafka.properties").read_text(encoding="utf-8"))
    properties = folder / "kafka.properties"
    text = template.substitute(port=port, controller_port=controller_port, data=(folder / "data").as_posix())
    own = "".join(f"{name}={value}\n" for name, value in further.items())  # of two with one name the last one counts
    properties.write_text(f"{text}\n{own}", encoding="utf-8")
    return properties


def _format(java: list[str], properties: Path) -> None:
    # the zero byte: one id in 64 would begin with "-", which the tool takes for an option
    cluster_id = base64.urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).rstrip(b"=").decode()
    command = [*java, "kafka.tools.StorageTool", "format", "--standalone", "-t", cluster_id, "-c", str(properties)]
    formatted = subprocess.run(command, capture_output=True, text=True, check=False)
    if formatted.returncode != 0:
        raise LocalError(f"Kafka's folder {properties.parent} could not be formatted: {formatted.stderr.strip()}")


class Broker:
    """A broker whose life is in the caller's hands; what it logs goes to ``broker.log`` in its folder."""

    def __init__(
        self, folder: Path, port: int, controller_port: int | None = None, *, further: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self.bootstrap = f"127.0.0.1:{port}"  # what a client connects to
        self._port = port
        self._controller_port = controller_port or free_ports(1)[0]
        self._further = dict(further or {})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connection(self) -> KafkaConnection:
        """How a client of this machine connects, without TLS and as nobody."""
        return KafkaConnection(servers=self.bootstrap)

    @property
    def is_running(self) -> bool:
        """Whether the process lives; a suspended one does."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and return when it answers; a `LocalError` where there is no point in waiting on."""
        command = prepare(self.folder, self._port, self._controller_port, self._further)
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        started = psutil.Process(self._process.pid)
        why = Patience(lambda: [started], START_BUDGET_S).wait(lambda: not self.is_running or answers(self.bootstrap))
        if why or not self.is_running:
            self.kill()
            raise LocalError(
                f"Kafka did not start: it {why or 'ended'}; what it said is in {self.folder / 'broker.log'}"
            )

    def stop(self) -> None:
        """End it in order (SIGTERM); one that does not end within `STOP_TIMEOUT_S` is killed."""
        self._signal(signal.SIGTERM)
        try:
            self._wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as a power cut would (SIGKILL)."""
        self._signal(signal.SIGKILL)
        self._wait(STOP_TIMEOUT_S)

    def suspend(self) -> None:
        """Hang it: connections stay open, nothing is answered (SIGSTOP)."""
        if self._process is not None and self.is_running:
            suspend(psutil.Process(self._process.pid))

    def resume(self) -> None:
        """Let a suspended broker go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self.is_running:
            self._process.send_signal(number)

    def _wait(self, timeout_s: float) -> None:
        if self._process is not None:
            self._process.wait(timeout_s)


def answers(bootstrap: str) -> bool:
    """Return whether a broker at ``bootstrap`` says that it takes part in a cluster; takes 3 s at most."""
    host, port = bootstrap.rsplit(":", 1)
    try:
        socket.create_connection((host, int(port)), timeout=1).close()  # kafka-python leaks a socket per refusal
        return _is_in_a_cluster(bootstrap)
    except (OSError, KafkaError):
        return False


def _is_in_a_cluster(bootstrap: str) -> bool:
    admin = KafkaAdminClient(bootstrap_servers=bootstrap, bootstrap_timeout_ms=1_000, request_timeout_ms=2_000)
    try:
        return bool(admin.describe_cluster()["brokers"])
    finally:
        admin.close()


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m deploy.local.broker", description="Run one Kafka node.")
    parser.add_argument("folder", type=Path, help="where its data lie; made and formatted where needed")
    parser.add_argument("port", type=int, help="of 127.0.0.1, for clients")
    parser.add_argument("controller_port", type=int, help="of 127.0.0.1, for the node itself")
    given = parser.parse_args()
    wait_for_room(given.folder.resolve())
    command = prepare(given.folder.resolve(), given.port, given.controller_port)
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    exit_with(_main)
