"""Heavy work: what one request asks for, takes seconds of a processor, and must not delay the others."""

from collections.abc import Callable
from typing import Protocol, TypeVar, TypeVarTuple

from anyio import CapacityLimiter, to_thread

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class HeavyWork(Protocol):
    """Whoever does it; functions and arguments may have to go to another process."""

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Return the result, or raise what the function raises, or a `Problem` where it cannot be done now."""


class OneThread:
    """Does it in this process, of the threads that all requests share in one."""

    def __init__(self) -> None:
        self._one_at_a_time = CapacityLimiter(1)

    async def run(self, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Return the result."""
        return await to_thread.run_sync(function, *arguments, limiter=self._one_at_a_time)
