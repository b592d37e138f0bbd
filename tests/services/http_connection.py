"""One connection to a server of uvicorn's, without a network in between, on a clock that the test moves."""

import asyncio
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import uvicorn
from uvicorn.server import ServerState

from services.common.http.bounded_protocol import BoundedHttpProtocol


class Clock:
    """The loop that a test runs in, but for what is to be done later: that is done when the test lets time pass."""

    def __init__(self) -> None:
        self._loop, self._now_s = asyncio.get_running_loop(), 0.0
        self._due: dict[Mock, tuple[float, Callable[[], object]]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def call_later(self, delay_s: float, callback: Callable[[], object]) -> Mock:
        timer = Mock()
        timer.cancel = lambda: self._due.pop(timer, None)
        self._due[timer] = self._now_s + delay_s, callback
        return timer

    def go_on(self, seconds: float) -> None:
        self._now_s += seconds
        for timer, (due_s, callback) in list(self._due.items()):
            if due_s <= self._now_s:
                del self._due[timer]
                callback()


class Connection:
    """A connection to a server on a clock of its own; what it reads and writes is bytes in memory."""

    def __init__(self, application: Any, protocol: type[BoundedHttpProtocol]) -> None:
        self.clock, self._transport = Clock(), Mock()
        self._transport.is_closing.return_value = False
        self._transport.get_extra_info.return_value = None
        config = uvicorn.Config(application, log_config=None, lifespan="off", timeout_keep_alive=3600)
        config.load()
        self._protocol = protocol(config, ServerState(), {}, _loop=self.clock)  # type: ignore[arg-type]
        self._protocol.connection_made(self._transport)

    def send(self, piece: bytes) -> None:
        if not self.is_cut_off:
            self._protocol.data_received(piece)

    def fill(self) -> None:
        """Tell the server that the reader has left so much that the connection is full."""
        self._protocol.pause_writing()

    def empty(self) -> None:
        """Tell it that the reader has taken that."""
        self._protocol.resume_writing()

    async def answers(self, count: int) -> None:
        """Let the application work until it has answered so many requests."""
        while self._written.count(b"HTTP/1.1 200") < count:
            await asyncio.wait(self._protocol.tasks)

    @property
    def is_cut_off(self) -> bool:
        return bool(self._transport.abort.called)

    @property
    def _written(self) -> bytes:
        return b"".join(call.args[0] for call in self._transport.write.call_args_list)
