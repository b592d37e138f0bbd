"""How tests wait for processes: as long as these make progress, however slow the machine is."""

from collections.abc import Callable, Iterable

import psutil

from deploy.local.patience import Patience


def until(
    condition: Callable[[], bool],
    budget_s: float = 30.0,
    of: Iterable[psutil.Process] | None = None,
    every_s: float = 0.1,
    tell: Callable[[], object] = str,
) -> None:
    """Poll ``condition``; an AssertionError says why it is in vain, and what ``tell`` has to say then.

    ``budget_s`` is the processor time that the processes ``of``, with their descendants, may take; by default these
    are all that this process started.
    """
    named = None if of is None else list(of)
    why = Patience(lambda: descendants() if named is None else named, budget_s).wait(condition, every_s)
    assert why is None, f"waited in vain: what was waited for {why}\n{tell()}".rstrip()


def descendants() -> list[psutil.Process]:
    """Return every process that this one started, and that these did."""
    return psutil.Process().children(recursive=True)
