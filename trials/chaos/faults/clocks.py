"""The clock of the host: every process of the system reads another time of day, and the gateways do not."""

import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from trials.chaos.faults.fault import Fault, NotTriedError, Place, fault

SOURCE = Path(__file__).with_name("clock.c")
WRONG_S = (10.0, 30.0)
_FILE = "clock"
_COMPILED = "clock.so"


def prepared(folder: Path) -> dict[str, str]:
    """Return the environment of processes whose clock `set_clock` sets; nothing where no compiler is here."""
    if (compiler := shutil.which("cc")) is None:
        return {}
    (folder / _FILE).write_bytes(_written(0))
    compiled = folder / _COMPILED
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(compiled), str(SOURCE)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return {"LD_PRELOAD": str(compiled), "COINCIDE_CHAOS_CLOCK": str(folder / _FILE)}


def set_clock(folder: Path, ahead_s: int) -> None:
    """Have all processes with the environment of `prepared` read a time of day that is so far ahead, from now on."""
    with (folder / _FILE).open("r+b") as file:  # never cut short: the processes have it mapped
        file.write(_written(ahead_s))


def _written(ahead_s: int) -> bytes:
    return struct.pack("=q", ahead_s * 1_000_000)


@contextmanager
def _wrong(ahead_s: int, place: Place) -> Iterator[None]:
    folder = place.system.layout.runtime
    if not (folder / _COMPILED).exists():
        raise NotTriedError("no C compiler is here: Debian's package gcc has one")
    set_clock(folder, ahead_s)
    try:
        yield
    finally:
        set_clock(folder, 0)


HOST_CLOCK: list[Fault] = [
    fault(f"clock of the host an hour {shown}", partial(_wrong, ahead_s), "fusion", lasts_s=WRONG_S, sets_clock=True)
    for ahead_s, shown in ((3600, "ahead"), (-3600, "behind"))
]
