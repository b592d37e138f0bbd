"""PastRuns: runs over history that a page waits for, and the matches that they keep."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from services.console.pages.number_words import counted
from services.console.rest.run_answers import RunAnswer
from services.console.rest.services import ChangeRequest, Rest, RestError, path_of

RUNS = "/v1/history-runs"
LOOK_EVERY_S, GIVE_UP_S = 0.4, 300.0


class PastMatch(NamedTuple):
    """A match of a run."""

    id: str
    probability: float
    earliest_us: int
    latest_us: int
    area: str


class PastRuns:
    """Asks for runs over REST; each method raises `RestError`. It leaves those that nobody looks at."""

    def __init__(self, rest: Rest, *, may_remove: bool) -> None:
        self._rest, self._may_remove = rest, may_remove
        self._counting: str | None = None  # the what-if that it asked for last

    async def what_if(self, query: str, asked: Mapping[str, Any], say: Callable[[str], object]) -> RunAnswer:
        """Return a run that counts only, when it is over; `say` hears how far it is. It replaces the one before."""
        run = await self._rest.post(RunAnswer, "alerting", what_if_path(query), asked)
        before, self._counting = self._counting, run.run
        if before is not None:
            await self._leave(before)
        return await self._over(run, say)

    async def _over(
        self, run: RunAnswer, say: Callable[[str], object], is_wanted: Callable[[], bool] = lambda: True
    ) -> RunAnswer:
        """Return a run when it is over, when nobody wants it any more, or when it has taken minutes."""
        ends_s = time.monotonic() + GIVE_UP_S
        while not run.is_over and is_wanted() and time.monotonic() < ends_s:
            say(f"It waits for {_before(run)}." if run.state == "queued" else f"{run.progress:.0%} is done.")
            await asyncio.sleep(LOOK_EVERY_S)
            run = await self._rest.get(RunAnswer, "alerting", path_of("v1", "history-runs", run.run))
        return run

    async def examples(self, asked: Mapping[str, Any], is_wanted: Callable[[], bool]) -> list[PastMatch]:
        """Return the matches of a run; none where there are too many for one answer, or nobody wants them any more."""
        run = await self._rest.post(RunAnswer, "alerting", RUNS, asked)
        try:
            run = await self._over(run, lambda _: None, is_wanted)
            return await self._matches(run) if run.state == "done" else []
        finally:
            await self._leave(run.run)

    async def _matches(self, run: RunAnswer) -> list[PastMatch]:
        try:
            lines = await self._rest.text("alerting", path_of("v1", "history-runs", run.run, "matches"))
        except RestError as error:
            if error.is_away:
                raise
            return []
        return [_example(line) for line in lines.splitlines() if line]

    async def _leave(self, run: str) -> None:
        """Take back that it was asked for: with the last who does, it goes. Else it stays in the list of runs."""
        if self._may_remove:
            with suppress(RestError):  # it is gone
                path = path_of("v1", "history-runs", run)
                await self._rest.make(ChangeRequest("DELETE", "alerting", path, parameters={"leave": True}))


def what_if_path(query: str) -> str:
    """Return where a query is asked what other thresholds would have given."""
    return path_of("v1", "queries", query, "what-if")


def _example(line: str) -> PastMatch:
    match = json.loads(line)
    return PastMatch(*(match[name] for name in PastMatch._fields))


def _before(run: RunAnswer) -> str:
    return counted(run.ahead, "other run") if run.ahead else "its turn"
