"""How tests wait for processes: as long as these make progress, however slow the machine is."""

from collections.abc import Callable, Iterable, Mapping

import psutil

from deploy.host.patience import Patience, Reading, readings

BUDGET_S = 60.0
#: Threads of this process that wait for something look for it now and then. That is no progress.
SHARE_OF_THREADS = 0.1


def until(
    condition: Callable[[], bool],
    budget_s: float = BUDGET_S,
    of: Iterable[psutil.Process] | None = None,
    every_s: float = 0.1,
    tell: Callable[[], object] = str,
) -> None:
    """Poll ``condition``; an AssertionError says why it is in vain, and what ``tell`` has to say then.

    ``budget_s`` is the processor time that the processes ``of``, with their descendants, may take. By default these
    are all that this process started, or this process itself where it started none.
    """
    if of is None:
        patience = Patience(lambda: [psutil.Process()], budget_s, look=_look_at_others)
    else:
        named = list(of)
        patience = Patience(lambda: named, budget_s)
    why = patience.wait(condition, every_s)
    assert why is None, f"waited in vain: what was waited for {why}\n{tell()}".rstrip()


def _look_at_others(roots: Iterable[psutil.Process]) -> Mapping[psutil.Process, Reading]:
    """Do not count what this process does itself, which is to ask; where there is nobody else, count some of it."""
    found, own = readings(roots), psutil.Process()
    if own in found:
        share = 0.0 if len(found) > 1 else SHARE_OF_THREADS
        found[own] = found[own]._replace(cpu_s=share * found[own].cpu_s, disk_bytes=0)
    return found


def keep_priority() -> None:
    """Give way to nobody: a test's own run would stand still for as long as others keep the cores busy."""
