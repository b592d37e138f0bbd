"""A full disk, a port that nothing comes through to, and a clock that was set, where this machine allows it."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.needs import found
from trials.chaos.faults.clocks import prepared, set_clock
from trials.chaos.faults.disks import full, mounted
from trials.chaos.faults.fault import NotTriedError
from trials.chaos.faults.surroundings import dropping

ROOM = b"x" * 1_000_000


def test_a_full_disk_takes_nothing_and_has_room_again_afterwards(tmp_path: Path) -> None:
    with mounted([tmp_path]) as disks:
        if not disks:
            pytest.skip("no disk can be mounted here: that takes root")
        (tmp_path / "before").write_bytes(ROOM)
        with full(tmp_path), pytest.raises(OSError, match="No space left"):
            (tmp_path / "meanwhile").write_bytes(ROOM)
        (tmp_path / "after").write_bytes(ROOM)
        assert (tmp_path / "before").read_bytes() == ROOM
    assert not os.path.ismount(tmp_path)


def test_nothing_comes_through_to_a_port_until_the_partition_ends() -> None:
    found("nftables")
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
        socket.create_connection(place, timeout=10).close()
        try:
            with dropping(place[1]), pytest.raises(TimeoutError):
                socket.create_connection(place, timeout=0.5)
        except NotTriedError as error:
            pytest.skip(str(error))
        socket.create_connection(place, timeout=10).close()


def test_a_machine_without_nft_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NotTriedError, match="Debian's package nftables"), dropping(1):
        pass


CLOCK = """
import sys, threading, time
begun_s = time.monotonic()
while sys.stdin.readline():
    threading.Event().wait(0.05)
    print(time.time(), time.monotonic() - begun_s, flush=True)
"""


def test_a_process_reads_the_time_of_day_that_is_set_and_waits_as_long_as_before(tmp_path: Path) -> None:
    found("gcc")
    environment = prepared(tmp_path)
    assert environment
    command, environ = [sys.executable, "-c", CLOCK], {**os.environ, **environment}
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        begun_s = time.monotonic()
        for ahead_s in (0, 3600, -3600, 0):
            set_clock(tmp_path, ahead_s)
            print(file=process.stdin, flush=True)
            of_day_s, since_start_s = map(float, process.stdout.readline().split())
            assert of_day_s - time.time() == pytest.approx(ahead_s, abs=5)
            assert since_start_s <= time.monotonic() - begun_s
