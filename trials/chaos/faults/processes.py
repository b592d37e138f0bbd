"""Processes that are killed (SIGKILL) or hang for a while (SIGSTOP)."""

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial

import psutil

from deploy.host.machine import wait_until
from trials.chaos.faults.fault import Fault, NotTriedError, Place, fault

_GONE_WITHIN_S = 30.0
_FOUND_WITHIN_S = 60.0
HUNG_S = (3.0, 20.0)

Family = Callable[[Place], list[psutil.Process]]


def member(place: Place, name: str) -> list[psutil.Process]:
    """Return the process that the runner started as ``name``, if it is up."""
    pid = place.system.supervision.pid(name)
    return [psutil.Process(pid)] if pid else []


def java_of_fusion(place: Place) -> list[psutil.Process]:
    """Return Spark's Java process."""
    return [each for driver in member(place, "fusion") for each in driver.children() if each.name() == "java"]


def workers_of_fusion(place: Place) -> list[psutil.Process]:
    """Return Spark's Python workers and the daemon that begets them."""
    return [each for java in java_of_fusion(place) for each in java.children(recursive=True)]


def _found(find: Family, place: Place) -> list[psutil.Process]:
    """Return what is found, once it is: something may just be starting again after the fault before."""
    found: list[psutil.Process] = []

    def is_found() -> bool:
        with suppress(psutil.NoSuchProcess):
            found[:] = find(place)
        return bool(found)

    wait_until(is_found, _FOUND_WITHIN_S)
    return found


@contextmanager
def _killed(find: Family, place: Place) -> Iterator[None]:
    """Kill what is found; its runner, or its parent, starts it again."""
    found = _found(find, place)
    if not found:
        raise NotTriedError("there was no such process")
    for each in found:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    psutil.wait_procs(found, _GONE_WITHIN_S)
    yield


@contextmanager
def _hung(name: str, place: Place) -> Iterator[None]:
    """Stop the process and all its children; let them go on afterwards."""
    found = _found(partial(member, name=name), place)
    family = [each for parent in found for each in (parent, *parent.children(recursive=True))]
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGCONT)


def _kill(find: Family) -> Callable[[Place], AbstractContextManager[None]]:
    return partial(_killed, find)


KILLED: list[Fault] = [
    *(
        fault(f"kill -9 of {shown}", _kill(partial(member, name=name)), name)
        for name, shown in (("ingest", "ingest"), ("alerting", "alerting"), ("kafka", "the broker"))
    ),
    fault("kill -9 of fusion's driver", _kill(partial(member, name="fusion")), "fusion"),
    fault("kill -9 of Spark's Java", _kill(java_of_fusion), "fusion"),
    fault("kill -9 of Spark's Python workers", _kill(workers_of_fusion), "fusion"),
]
HUNG: list[Fault] = [
    fault(f"SIGSTOP of {shown}", partial(_hung, name), name, lasts_s=HUNG_S)
    for name, shown in (
        ("kafka", "the broker"),
        ("fusion", "fusion"),
        ("alerting", "alerting"),
        ("ingest", "ingest"),
    )
]
