"""The demo's harbour: what is heard follows the templates, is posted in time, and no answer keeps it from going on."""

import json
import random
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime
from itertools import islice

import httpx2
import psutil
import pytest

from deploy.host.machine import ROOT
from deploy.local.layout import Layout
from deploy.local.system import HARBOUR, System
from services.common.settings import load_streams
from services.demo import programme
from services.demo.harbour import APART_S, AREA, STREAM, TOO_OLD_S, microphones, play, reports
from services.demo.programme import bang_sentence, new_bangs

START_S = 1_700_000_000.0
TEMPLATES = microphones()
ACCEPTED = httpx2.Response(202, json={"accepted": 1})


def test_a_seed_decides_what_is_heard_and_all_of_a_round_is_heard_before_the_next() -> None:
    rounds = [reports(START_S, TEMPLATES, random.Random(seed)) for seed in range(500)]
    assert rounds == [reports(START_S, TEMPLATES, random.Random(seed)) for seed in range(500)]
    assert {len(each) for each in rounds} == {0, 1, 2, 3}
    assert {sensor for each in rounds for _, sensor in each} == {"mic-1", "mic-2", "mic-3"}
    for each in rounds:
        assert each == sorted(each)
        assert all(START_S <= reported_s <= START_S + APART_S[0] for reported_s, _ in each)


def test_what_is_posted_is_never_late() -> None:
    """It may be as old as `TOO_OLD_S`, and nothing but what was posted before it moves the area's watermark."""
    assert min(template.latest_s for template in TEMPLATES.values()) >= 0  # each reaches to its report or past it
    assert load_streams(ROOT / "config/streams.yaml")[STREAM].max_delay_s > TOO_OLD_S


class Minute(threading.Event):
    """A minute whose time passes in waits alone; ``answer`` is what ingest does, ``skew_s`` is added to the clock."""

    def __init__(self, answer: httpx2.Response | Exception, skew_s: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__()
        self.now_s, self.waits_s, self.posted = START_S, list[float](), list[dict[str, str]]()
        self._answer = answer
        with httpx2.Client(base_url="http://ingest", transport=httpx2.MockTransport(self._take)) as ingest:
            play(ingest, TEMPLATES, self, clock=lambda: self.now_s + skew_s())

    def wait(self, timeout: float | None = None) -> bool:
        self.waits_s.append(timeout or 0.0)
        self.now_s += timeout or 0.0
        if self.now_s > START_S + 60 or len(self.waits_s) > 100:
            self.set()
        return self.is_set()

    def _take(self, request: httpx2.Request) -> httpx2.Response:
        self.posted += json.loads(request.content)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def test_a_minute_is_posted_at_its_time_and_at_a_bounded_rate() -> None:
    minute = Minute(ACCEPTED)
    assert 6 <= len(minute.posted) <= 18
    assert {each["sensor"] for each in minute.posted} == set(TEMPLATES)
    assert sum(minute.waits_s) == pytest.approx(60, abs=APART_S[1])
    assert minute.posted == Minute(ACCEPTED).posted


REFUSED = httpx2.Response(202, json={"accepted": 0, "refused": 1})
BUSY = httpx2.Response(503, headers={"Retry-After": "3600"})


@pytest.mark.parametrize("answer", [BUSY, REFUSED, httpx2.ConnectError("refused"), httpx2.ReadTimeout("silent")])
def test_no_answer_keeps_it_from_posting_what_comes_next(answer: httpx2.Response | Exception) -> None:
    assert Minute(answer).posted == Minute(ACCEPTED).posted


def test_what_a_sleep_made_old_is_not_posted() -> None:
    looks = iter(range(1_000))
    minute = Minute(ACCEPTED, lambda: 3600.0 if next(looks) > 2 else 0.0)
    oldest_s = min(datetime.fromisoformat(each["detected_at"]).timestamp() for each in minute.posted[1:])
    assert oldest_s >= START_S + 3600


def test_a_clock_that_is_set_back_does_not_keep_it_waiting() -> None:
    looks = iter(range(1_000))
    assert max(Minute(ACCEPTED, lambda: -3600.0 * (next(looks) > 2)).waits_s) <= APART_S[1]


def test_each_new_match_is_shown_once_and_an_outage_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Match n was received at n: that of 1 is older than the start.  None is an alerting that does not answer."""
    pages = iter([[1], [2, 1], [2, 1], [2, 1], None, [4, 3, 2, 1], [5, 4, 3]])

    def answer(request: httpx2.Request) -> httpx2.Response:
        page = next(pages)
        items = [{"id": f"m-{at_us}", "received_at_us": at_us} for at_us in page or []]
        return httpx2.Response(200 if page else 503, json={"items": items})

    monkeypatch.setattr(programme, "_WATCH_EVERY_S", 0)
    system = System(Layout.isolated(ROOT))
    system.alerting = httpx2.Client(base_url="http://alerting", transport=httpx2.MockTransport(answer))
    monkeypatch.setattr(system.supervision, "runner", psutil.Process)  # it is waited for in patience
    assert [match["received_at_us"] for match in islice(new_bangs(system, since_us=2), 4)] == [2, 3, 4, 5]


@pytest.mark.jvm
def test_matches_come_once_it_is_started_and_nothing_is_late(system: System) -> None:
    assert HARBOUR not in system.status()  # nothing but the demo starts it
    start_us = time.time_ns() // 1_000
    system.supervision.start_process(HARBOUR)
    try:
        [first, second] = islice(new_bangs(system, start_us), 2)
        assert re.fullmatch(r"\d\d:\d\d:\d\d UTC  mic-\d( \+ mic-\d){1,2} +P = 0\.\d\d.*", bang_sentence(first))
        assert abs(second["occurred"]["mean_us"] - time.time_ns() // 1_000) < 30_000_000
        assert "RUNNING" in system.status()[HARBOUR]
    finally:
        system.supervision.stop_process(HARBOUR)
    assert '"stopped"' in (system.layout.logs / "harbour.log").read_text().splitlines()[-1]
    late = system.alerting.get("/v1/dead-letters", params={"area": AREA}).json()
    assert late["items"] == []
