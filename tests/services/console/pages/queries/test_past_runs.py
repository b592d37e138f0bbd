"""Runs that a page has done: it leaves them when nobody looks at them, and those of others stay."""

import asyncio
import json
from collections import Counter
from typing import Any

import httpx2
import pytest

from services.console.pages.queries import past_runs
from services.console.pages.queries.past_runs import PastRuns
from services.console.rest.services import Rest
from tests.services.console.rest.test_services import rest


class History:
    """A history process: a run is done when it is looked at, unless none ends; it goes when all have left it."""

    def __init__(self, *, ends: bool = True) -> None:
        self.states: dict[str, str] = {}
        self._askers = Counter[str]()
        self._ends = ends

    def asked(self, run: str, state: str) -> None:
        """Somebody else asks for a run."""
        self._askers[run] += 1
        self.states.setdefault(run, state)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        parts = request.url.path.split("/")
        if request.method == "DELETE":
            assert request.url.params["leave"] == "true"
            self._askers[parts[-1]] -= 1
            if not self._askers[parts[-1]]:
                del self.states[parts[-1]]
            return httpx2.Response(204)
        if request.method == "POST" or parts[-1] == "what-if":
            asked = json.loads(request.content)["from"] if request.content else request.url.params["from"]
            self.asked(f"r-{asked}", "queued")
            return self._said(f"r-{asked}")
        if parts[-1] == "matches":
            match = {"id": "m", "probability": 0.5, "earliest_us": 0, "latest_us": 1, "area": "bay"}
            return httpx2.Response(200, text=json.dumps(match))
        if parts[-1] not in self.states:
            return httpx2.Response(404, json={"detail": "there is nothing"})
        if self._ends:
            self.states[parts[-1]] = "done"
        return self._said(parts[-1])

    def _said(self, run: str) -> httpx2.Response:
        asked = {"query": {}, "from_us": 0, "to_us": 1, "source": "archive", "as_live": False}
        told: dict[str, Any] = {"run": run, "state": self.states[run], "started_at_us": 0, "request": asked}
        return httpx2.Response(200, json=told)

    def rest(self) -> Rest:
        return rest(self)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past_runs, "LOOK_EVERY_S", 0.0)


def always() -> bool:
    return True


def test_ten_steps_leave_no_run() -> None:
    history = History()
    runs = PastRuns(history.rest(), may_remove=True)
    for step in range(10):
        [example] = asyncio.run(runs.examples({"from": step}, always))
        assert example.id == "m"
    assert history.states == {}


def test_a_run_that_nobody_wants_any_more_is_cancelled() -> None:
    history, looks = History(ends=False), iter((True, True, False))
    assert asyncio.run(PastRuns(history.rest(), may_remove=True).examples({"from": 1}, lambda: next(looks))) == []
    assert history.states == {}


def test_the_same_may_be_asked_at_once_after_it_was_cancelled() -> None:
    history, looks = History(), iter((False,))
    runs = PastRuns(history.rest(), may_remove=True)
    assert asyncio.run(runs.examples({"from": 1}, lambda: next(looks))) == []
    assert len(asyncio.run(runs.examples({"from": 1}, always))) == 1


def test_a_run_that_was_there_stays_and_so_does_one_that_the_key_may_not_remove() -> None:
    history = History()
    history.asked("r-7", "done")
    assert len(asyncio.run(PastRuns(history.rest(), may_remove=True).examples({"from": 7}, always))) == 1
    asyncio.run(PastRuns(history.rest(), may_remove=False).examples({"from": 8}, always))
    assert history.states == {"r-7": "done", "r-8": "done"}


@pytest.mark.parametrize("joins", ["before", "meanwhile"])
def test_a_run_at_work_that_somebody_else_asked_for_stays(joins: str) -> None:
    history, looks = History(ends=False), iter((True, True, False))

    def look() -> bool:
        is_wanted = next(looks)
        if joins == "meanwhile" and not is_wanted:
            history.asked("r-1", "running")
        return is_wanted

    if joins == "before":
        history.asked("r-1", "running")
    asyncio.run(PastRuns(history.rest(), may_remove=True).examples({"from": 1}, look))
    assert history.states.keys() == {"r-1"}


def test_a_look_at_a_run_at_work_that_somebody_else_asked_for_leaves_it() -> None:
    history = History()
    history.asked("r-1", "running")
    runs = PastRuns(history.rest(), may_remove=True)
    for nth in (1, 2):
        asyncio.run(runs.what_if("q", {"from": nth}, lambda _: None))
    assert history.states == {"r-1": "done", "r-2": "done"}


def test_a_look_replaces_the_run_of_the_look_before() -> None:
    history = History()
    history.asked("r-5", "done")  # by somebody else
    runs = PastRuns(history.rest(), may_remove=True)
    left = []
    for nth in (1, 2, 2, 5, 3):
        assert asyncio.run(runs.what_if("q", {"from": nth}, lambda _: None)).state == "done"
        left.append(sorted(history.states))
    assert left == [["r-1", "r-5"], ["r-2", "r-5"], ["r-2", "r-5"], ["r-5"], ["r-3", "r-5"]]
