"""PastRuns: runs over history that a page waits for, and the matches that they keep."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from services.console.pages.number_words import counted
from services.console.rest.run_answers import RunAnswer
from services.console.rest.services import Rest, RestError, path_of

RUNS = "/v1/history-runs"
LOOK_EVERY_S, GIVE_UP_S = 0.4, 300.0


class Example(NamedTuple):
    """A match of a run."""

    id: str
    probability: float
    earliest_us: int
    latest_us: int
    area: str


class PastRuns:
    """Asks for runs over REST; each method raises `RestError`."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def what_if(self, query: str, asked: Mapping[str, Any], say: Callable[[str], object]) -> RunAnswer:
        """Return a run of a query that counts only, when it is over; `say` hears how far it is."""
        return await self._over(await self._rest.post(RunAnswer, "alerting", what_if_path(query), asked), say)

    async def _over(self, run: RunAnswer, say: Callable[[str], object]) -> RunAnswer:
        """Return a run when it is over, or when it has taken minutes."""
        ends_s = time.monotonic() + GIVE_UP_S
        while not run.is_over and time.monotonic() < ends_s:
            say(f"It waits for {_before(run)}." if run.state == "queued" else f"{run.progress:.0%} is done.")
            await asyncio.sleep(LOOK_EVERY_S)
            run = await self._rest.get(RunAnswer, "alerting", path_of("v1", "history-runs", run.run))
        return run

    async def examples(self, asked: Mapping[str, Any]) -> list[Example]:
        """Return the matches of a run; none where there are too many for one answer."""
        run = await self._over(await self._rest.post(RunAnswer, "alerting", RUNS, asked), lambda _: None)
        if run.state != "done":
            return []
        try:
            lines = await self._rest.text("alerting", path_of("v1", "history-runs", run.run, "matches"))
        except RestError as error:
            if error.is_away:
                raise
            return []
        return [_example(line) for line in lines.splitlines() if line]


def what_if_path(query: str) -> str:
    """Return where a query is asked what other thresholds would have given."""
    return path_of("v1", "queries", query, "what-if")


def _example(line: str) -> Example:
    match = json.loads(line)
    return Example(*(match[name] for name in Example._fields))


def _before(run: RunAnswer) -> str:
    return counted(run.ahead, "other run") if run.ahead else "its turn"
