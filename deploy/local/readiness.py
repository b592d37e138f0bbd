"""Wait until processes can do their work: each is asked, until it says yes, has died for good, or a deadline passes."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

import httpx

from deploy.local.broker import answers
from deploy.local.failure import LocalError
from deploy.local.layout import Layout
from deploy.local.supervision import Supervision

#: Called with a process name and what it does now: ``starting``, ``ready``.
Report = Callable[[str, str], None]

READY_TIMEOUT_S = 180.0
_POLL_S = 0.2


def silent(name: str, state: str) -> None:
    """Report nothing."""


def is_ready(layout: Layout, name: str) -> bool:
    """Return whether process ``name`` says that it can do its work."""
    if name == "kafka":
        return answers(layout.bootstrap)
    try:
        return httpx.get(f"{layout.url(name)}/readyz", timeout=2.0).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def wait_ready(
    layout: Layout, names: Iterable[str], report: Report = silent, timeout_s: float = READY_TIMEOUT_S
) -> None:
    """Return when every process of ``names`` is ready.

    Raises
    ------
    LocalError
        One has given up, or is not ready within ``timeout_s``; the message ends with its log's last lines.
    """
    supervision = Supervision(layout)
    waiting = list(names)
    deadline_s = time.monotonic() + timeout_s
    while waiting:
        for name in list(waiting):
            if supervision.state(name) == "RUNNING" and is_ready(layout, name):
                waiting.remove(name)
                report(name, "ready")
            elif supervision.state(name) in {"FATAL", "EXITED"}:
                raise LocalError(f"{name} could not be started{last_words(layout.logs / f'{name}.log')}")
        if waiting and time.monotonic() > deadline_s:
            late = waiting[0]
            raise LocalError(f"{late} is not ready after {timeout_s:.0f} s{last_words(layout.logs / f'{late}.log')}")
        time.sleep(_POLL_S if waiting else 0)


def last_words(log: Path, lines: int = 12) -> str:
    """Return the end of ``log``, as the end of a sentence."""
    if not log.exists():
        return f" (it left no log in {log})"
    with log.open(encoding="utf-8", errors="replace") as text:
        return f"; {log} ends with:\n{''.join(deque(text, lines)).rstrip()}"
