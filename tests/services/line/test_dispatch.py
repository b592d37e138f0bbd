"""The components of a process begin in their order and end in the reverse one, also where one of them cannot begin."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from services.common.access.asgi import Application, Receive, Scope, Send
from services.line.dispatch import Dispatch


def component(name: str, said: list[str], fails: str = "") -> Application:
    async def answer(_scope: Scope, receive: Receive, send: Send) -> None:
        while True:
            what = (await receive())["type"]
            said.append(f"{name} {what}")
            if fails and what.endswith("startup"):
                raise RuntimeError(fails)
            await send({"type": f"{what}.complete"})
            if what.endswith("shutdown"):
                return

    return answer


async def lived(dispatch: Dispatch) -> list[dict[str, Any]]:
    """Return what it says when it is asked to begin, and then to end."""
    asked, told = iter(("startup", "shutdown")), list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return {"type": f"lifespan.{next(asked)}"}

    async def send(message: Any) -> None:
        told.append(dict(message))

    await asyncio.wait_for(dispatch({"type": "lifespan"}, receive, send), 10)
    return told


def run(make: Callable[[str], Application], *names: str) -> list[dict[str, Any]]:
    return asyncio.run(lived(Dispatch({name: make(name) for name in names}, {}, names[-1])))


def test_all_begin_in_their_order_and_end_in_the_reverse_one() -> None:
    said: list[str] = []
    told = run(partial(component, said=said), "a", "b")
    assert [each["type"] for each in told] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert said == ["a lifespan.startup", "b lifespan.startup", "b lifespan.shutdown", "a lifespan.shutdown"]


def test_where_one_cannot_begin_it_says_why_and_ends_the_others() -> None:
    said: list[str] = []
    told = run(lambda name: component(name, said, "no database" if name == "b" else ""), "a", "b", "c")
    assert told == [{"type": "lifespan.startup.failed", "message": "no database"}]
    assert said == ["a lifespan.startup", "b lifespan.startup", "a lifespan.shutdown"]


def test_a_path_of_the_api_that_nobody_has_is_answered_by_one_of_its_owners() -> None:
    asked = list[tuple[str, str]]()

    async def nothing_comes() -> Any:
        raise AssertionError

    async def nothing_goes(message: Any) -> None:
        raise AssertionError(message)

    def answering(name: str) -> Application:
        async def answer(scope: Scope, _receive: Receive, _send: Send) -> None:
            asked.append((name, scope["path"]))

        return answer

    dispatch = Dispatch({name: answering(name) for name in "abc"}, {"matches": "a", "sensors": "b", "": "a"}, last="c")
    paths = "/v1/sensors/x", "/v1/matches", "/v1/match", "/v1/", "/", "/queries", "/components/b/readyz"
    for path in paths:
        asyncio.run(dispatch({"type": "http", "path": path}, nothing_comes, nothing_goes))
    assert [name for name, _ in asked] == ["b", "a", "a", "a", "c", "c", "b"]
    assert [path for _, path in asked] == [*paths[:-1], "/readyz"]
