"""The two shell scripts of deploy/: whether a broker answers, and trying the containers."""

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.host.machine import ROOT, free_ports

ANSWERS = ROOT / "deploy/kafka/answers.sh"
QUESTION = b"\x00\x00\x00\x0a\x00\x12\x00\x00ping\xff\xff"
GOOD = b"\x00\x00\x00\x0a" + b"ping" + b"\x00\x00" + b"\x00\x00\x00\x00"


def broker_answers(port: int, within_s: int = 30) -> bool:
    """Return what the script of the health check says of the broker at ``port``; a busy machine gets time."""
    command = ["bash", str(ANSWERS), "127.0.0.1", str(port), str(within_s)]
    return subprocess.run(command, timeout=60, check=False, capture_output=True).returncode == 0


@contextmanager
def serving(answer: bytes | None) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the port of a server that gives one caller ``answer``, None keeps silent, and what it was asked."""
    asked: list[bytes] = []
    done = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            with connection.makefile("rb") as stream:
                asked.append(stream.read(len(QUESTION)))
            if answer is None:
                done.wait(60)
            else:
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1], asked
        done.set()
        thread.join()


def test_a_broker_that_answers_is_asked_for_the_versions_of_the_protocol() -> None:
    with serving(GOOD) as (port, asked):
        assert broker_answers(port)
    assert asked == [QUESTION]


@pytest.mark.parametrize(
    "answer",
    [b"", GOOD[:9], GOOD.replace(b"ping", b"pong"), b"\x00\x00\x00\x0aping\x00\x23\x00\x00", b"HTTP/1.1 400 Bad"],
    ids=["nothing", "too short", "another request's", "an error", "no broker"],
)
def test_anything_else_that_listens_there_is_no_broker(answer: bytes) -> None:
    with serving(answer) as (port, _):
        assert not broker_answers(port)


def test_one_that_hangs_is_given_up() -> None:
    began_s = time.monotonic()
    with serving(None) as (port, _):
        assert not broker_answers(port, within_s=1)
    assert time.monotonic() - began_s >= 1  # it did wait: a busy broker is no dead one


def test_where_nobody_listens_there_is_none() -> None:
    assert not broker_answers(free_ports(1)[0])


def test_without_an_engine_nothing_is_tried_and_the_exit_status_says_so(tmp_path: Path) -> None:
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nexit 1\n', encoding="utf-8")
    docker.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    tried = subprocess.run(
        [ROOT / "deploy/try_containers.sh"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (tried.returncode, tried.stdout) == (69, "")
    assert tried.stderr == "There is no Docker engine with compose here, so nothing was tried.\n"
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "info\n"
