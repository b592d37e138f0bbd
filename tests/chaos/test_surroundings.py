"""A disk that is full for a while, and a port that nothing comes through to, where this machine allows it."""

import os
import shutil
import socket
from pathlib import Path

import pytest

from tests.chaos.faults.disks import full, mounted
from tests.chaos.faults.fault import NotTriedError
from tests.chaos.faults.surroundings import dropping

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
