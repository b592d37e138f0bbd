"""Faults of what a system stands on: disks that are full, and a network that lets nothing through to the broker."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from trials.chaos.faults.disks import full
from trials.chaos.faults.fault import Fault, NotTriedError, Place, fault

FULL_S = (10.0, 60.0)
APART_S = (5.0, 40.0)
_TABLE = ("inet", "coincide_chaos")


@contextmanager
def _full_disk(store: str, place: Place) -> Iterator[None]:
    folder = place.system.layout.runtime / store
    if folder not in place.disks:
        raise NotTriedError("no disk of its own can be mounted here: that takes root")
    with full(folder):
        yield


def _partition(place: Place) -> AbstractContextManager[None]:
    return dropping(place.system.layout.ports.kafka)


@contextmanager
def dropping(port: int) -> Iterator[None]:
    """Have the kernel drop every packet from and to ``port``; both ends notice nothing but silence."""
    _nft("add", "table", *_TABLE)
    try:
        _nft("add", "chain", *_TABLE, "input", "{ type filter hook input priority 0 ; }")
        for end in ("dport", "sport"):
            _nft("add", "rule", *_TABLE, "input", "tcp", end, str(port), "drop")
        yield
    finally:
        _nft("delete", "table", *_TABLE)


def _nft(*arguments: str) -> None:
    if shutil.which("nft") is None:
        raise NotTriedError("nft is not here: Debian's package nftables has it")
    ended = subprocess.run(["nft", *arguments], capture_output=True, text=True, check=False, timeout=30)
    if ended.returncode != 0:
        raise NotTriedError(f"nft may not change the rules here: {ended.stderr.splitlines()[0]}")


FULL_DISKS: list[Fault] = [
    fault(f"full disk of {shown}", partial(_full_disk, store), process, lasts_s=FULL_S, fills=store)
    for store, shown, process in (
        ("kafka", "Kafka's log", "kafka"),
        ("state", "fusion's checkpoint", "fusion"),
        ("database", "alerting's database", "alerting"),
    )
]
PARTITIONS: list[Fault] = [fault("partition of the broker", _partition, lasts_s=APART_S)]
