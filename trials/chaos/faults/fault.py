"""What a fault is, and where it is done."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from deploy.local.system import System
from trials.chaos.load import Load


class NotTriedError(Exception):
    """This machine cannot do such a fault; the message says what it lacks."""


@dataclass(frozen=True)
class Place:
    """Where faults are done: a running system, its load, and the run's own source of chance."""

    system: System
    load: Load
    random: Random
    disks: frozenset[Path] = frozenset()  # folders of stores that are disks of their own, which can be full


@dataclass(frozen=True)
class Fault:
    """One fault: it is there while the context that ``applied`` returns is open."""

    name: str
    touches: frozenset[str]  # the processes that it ends, or may end; any other that starts anew is a finding
    applied: Callable[[Place], AbstractContextManager[None]]
    lasts_s: tuple[float, float] = (0.0, 0.0)  # least and most seconds
    fills: str = ""  # the store whose folder must be a disk of its own
    sets_clock: bool = False  # whether the processes must read a clock that can be set


def fault(
    name: str,
    applied: Callable[[Place], AbstractContextManager[None]],
    *touches: str,
    lasts_s: tuple[float, float] = (0.0, 0.0),
    fills: str = "",
    sets_clock: bool = False,
) -> Fault:
    return Fault(name, frozenset(touches), applied, lasts_s, fills, sets_clock)
