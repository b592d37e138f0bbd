"""Dispatch: one address for the components of a process, each behind its own guard and with the paths it always has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from services.common.access.asgi import Application, Message, Receive, Scope, Send

#: Below it each component has all of its paths, those too that every component has, such as /readyz.
COMPONENTS = "/components/"


class Dispatch:
    """Hands a request to the component that has its path; what nobody has is for the `last` one.

    `owners` says by the first part behind ``/v1/`` who has it, "" who answers what nobody has there; `end_streams` ends
    the responses that never end by themselves; `at_end` is called when all components have ended.
    """

    def __init__(
        self,
        components: Mapping[str, Application],
        owners: Mapping[str, str],
        last: str,
        end_streams: Callable[[], object] = lambda: None,
        at_end: Callable[[], object] = lambda: None,
    ) -> None:
        self._components, self._owners, self._last, self._at_end = components, owners, last, at_end
        self.end_streams = end_streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request as an ASGI application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        name, path = self._place(scope["path"])
        if path != scope["path"]:
            cut = len(scope["path"]) - len(path)
            scope = {**scope, "path": path, "raw_path": scope.get("raw_path", path.encode())[cut:]}
        await self._components[name](scope, receive, send)

    def _place(self, path: str) -> tuple[str, str]:
        """Return the component, and the path that it knows."""
        if path.startswith(COMPONENTS):
            name, slash, rest = path.removeprefix(COMPONENTS).partition("/")
            if name in self._components and slash:
                return name, f"/{rest}"
        if not path.startswith("/v1/"):
            return self._last, path
        first = path.removeprefix("/v1/").partition("/")[0]
        return self._owners.get(first, self._owners.get("", self._last)), path

    async def _live(self, receive: Receive, send: Send) -> None:
        """Begin all components in their order, and end them in the reverse one."""
        await receive()
        try:
            async with AsyncExitStack() as stack:
                stack.callback(self._at_end)
                for each in self._components.values():
                    await stack.enter_async_context(_living(each))
                await send({"type": "lifespan.startup.complete"})
                await receive()
        except Exception as error:  # uvicorn says it, and ends
            await send({"type": "lifespan.startup.failed", "message": str(error) or type(error).__name__})
            return
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def _living(application: Application) -> AsyncIterator[None]:
    """Run an application's lifespan around the block."""
    asked: asyncio.Queue[Message] = asyncio.Queue()
    said: asyncio.Queue[Message] = asyncio.Queue()
    task = asyncio.create_task(_run(application, asked, said))
    try:
        await _ask(asked, said, "startup")
        try:
            yield
        finally:  # also where another one cannot begin: what has begun waits to be ended
            await _ask(asked, said, "shutdown")
    finally:
        await task


async def _run(application: Application, asked: asyncio.Queue[Message], said: asyncio.Queue[Message]) -> None:
    scope: dict[str, Any] = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    try:
        await application(scope, asked.get, said.put)
    except Exception as error:  # told to whoever waits for an answer
        await said.put({"type": "lifespan.failed", "message": str(error) or type(error).__name__})


async def _ask(asked: asyncio.Queue[Message], said: asyncio.Queue[Message], what: str) -> None:
    await asked.put({"type": f"lifespan.{what}"})
    answer = await said.get()
    if not answer["type"].endswith(".complete"):
        raise RuntimeError(answer.get("message") or f"{what} failed")
