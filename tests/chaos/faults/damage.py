"""Files of fusion's checkpoint that a crash of the machine left in half, and the documented way out: a rebuild."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from deploy.local.machine import LocalError, wait_until
from tests.chaos.faults.fault import Fault, NotTriedError, Place, fault
from tests.chaos.faults.rebuilding import rebuild

_SAID_WITHIN_S = 180.0


@contextmanager
def _damaged(pattern: str, place: Place) -> Iterator[None]:
    """Stop fusion, cut the newest such file in half, start it; where it is halted, do what it says, to its end."""
    supervision = place.system.supervision
    supervision.stop_process("fusion")
    try:
        _cut_in_half(place.system.layout.runtime / "state" / "checkpoint", pattern)
    finally:
        supervision.start_process("fusion")
    if not wait_until(lambda: _says_something(place), _SAID_WITHIN_S, every_s=0.5):
        raise LocalError("fusion says neither that it is ready nor that it is halted")
    if _is_halted(place):
        rebuild(place)
    yield


def _cut_in_half(checkpoint: Path, pattern: str) -> None:
    files = [each for each in checkpoint.glob(pattern) if each.is_file() and each.stat().st_size > 1]
    if not files:
        raise NotTriedError(f"the checkpoint has no {pattern}")
    newest = max(files, key=lambda each: each.stat().st_mtime_ns)
    content = newest.read_bytes()
    newest.write_bytes(content[: len(content) // 2])


def _says_something(place: Place) -> bool:
    return place.system.is_ready("fusion") or _is_halted(place)


def _is_halted(place: Place) -> bool:
    return "halted" in place.system.status()["fusion"]


DAMAGE: list[Fault] = [
    fault(f"truncated {shown} of the checkpoint", partial(_damaged, pattern), "fusion")
    for pattern, shown in (
        ("offsets/[0-9]*", "offsets"),
        ("commits/[0-9]*", "commits"),
        ("state/**/*.zip", "state"),
        ("coincide.json", "identity"),
    )
]
