"""Files of fusion's checkpoint that a crash left in half, or a bad disk changed, and the way out: a rebuild."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from deploy.host.machine import LocalError, wait_until
from trials.chaos.faults.fault import Fault, NotTriedError, Place, fault
from trials.chaos.faults.rebuilding import rebuild

_SAID_WITHIN_S = 180.0
_MOST_CHANGED = 64  # bytes

Damage = Callable[[bytes, Random], bytes]


@contextmanager
def _damaged(pattern: str, damage: Damage, place: Place) -> Iterator[None]:
    """Stop fusion, damage the newest such file, start it; where it is halted, do what it says, to its end."""
    supervision = place.system.supervision
    supervision.stop_process("fusion")
    try:
        newest = _newest(place.system.layout.runtime / "state" / "checkpoint", pattern)
        newest.write_bytes(damage(newest.read_bytes(), place.random))
    finally:
        supervision.start_process("fusion")
    if not wait_until(lambda: _says_something(place), _SAID_WITHIN_S, every_s=0.5):
        raise LocalError("fusion says neither that it is ready nor that it is halted")
    if _is_halted(place):
        rebuild(place)
    yield


def _newest(checkpoint: Path, pattern: str) -> Path:
    files = [each for each in checkpoint.glob(pattern) if each.is_file() and each.stat().st_size > 1]
    if not files:
        raise NotTriedError(f"the checkpoint has no {pattern}")
    return max(files, key=lambda each: each.stat().st_mtime_ns)


def _truncated(content: bytes, _: Random) -> bytes:
    return content[: len(content) // 2]


def _changed(content: bytes, random: Random) -> bytes:
    """Return as many bytes, of which a few in the middle are others."""
    begin = len(content) // 2
    others = bytes(each ^ random.randrange(1, 256) for each in content[begin : begin + _MOST_CHANGED])
    return content[:begin] + others + content[begin + _MOST_CHANGED :]


def _says_something(place: Place) -> bool:
    return place.system.is_ready("fusion") or _is_halted(place)


def _is_halted(place: Place) -> bool:
    return "halted" in place.system.status()["fusion"]


DAMAGE: list[Fault] = [
    fault(f"{how} {what} of the checkpoint", partial(_damaged, pattern, damage), "fusion")
    for how, damage, what, pattern in (
        ("truncated", _truncated, "offsets", "*/offsets/[0-9]*"),
        ("truncated", _truncated, "commits", "*/commits/[0-9]*"),
        ("truncated", _truncated, "state", "*/state/**/*.zip"),
        ("truncated", _truncated, "identity", "coincide.json"),
        ("changed", _changed, "offsets", "*/offsets/[0-9]*"),
        ("changed", _changed, "state", "*/state/**/*.zip"),
        ("changed", _changed, "changelog", "*/state/**/*.changelog"),
    )
]
