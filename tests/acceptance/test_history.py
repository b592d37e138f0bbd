"""The whole system with its archive: the past is asked over HTTP, and says what was live."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from deploy.local.demo import applied_query, matches_of, post_all, wait_for_matches
from deploy.local.layout import Layout
from deploy.local.machine import wait_until
from deploy.local.sn1987a import ANY_TWO, QUERIES, expected_matches, posts
from deploy.local.system import System
from tests.integration.service_process import metric

pytestmark = [pytest.mark.jvm, pytest.mark.timeout(280)]

DAY = {"from": "1987-02-23T00:00:00Z", "to": "1987-02-24T00:00:00Z"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A system with an archive, on which the detections of 1987 were posted and matched."""
    folder = tmp_path_factory.mktemp("asked")
    own = {"COINCIDE_ARCHIVE_PATH": f'"{folder / "archive"}"', "COINCIDE_ARCHIVE_INTERVAL_S": "1"}
    system = System(Layout.isolated(folder / "running", own))
    system.up()
    try:
        queries = {id_: applied_query(system, id_) for id_ in QUERIES}
        post_all(system)
        for id_, query in queries.items():
            wait_for_matches(system, id_, expected_matches(query))
        posted = sum(len(body.splitlines()) for body in posts().values())
        rows = "coincide_archive_rows_total"
        assert wait_until(lambda: (metric(system.layout.url("archive"), rows) or 0) >= posted, 60)
        yield system
    finally:
        system.down()


def done(system: System, answer: httpx.Response) -> dict[str, Any]:
    url = f"{system.layout.url('history')}/v1/history-runs/{answer.json()['run']}"
    assert wait_until(lambda: httpx.get(url).json()["state"] not in {"queued", "running"}, 60)
    said: dict[str, Any] = httpx.get(url).json()
    assert said["state"] == "done", said
    return said


def test_all_processes_are_told(asked: System) -> None:
    assert list(asked.status()) == ["kafka", "alerting", "fusion", "ingest", "console", "archive", "history"]
    assert all(state.endswith(", ready") for state in asked.status().values())


def test_what_if_over_the_archive_has_the_matches_that_are_live(asked: System) -> None:
    url = f"{asked.layout.url('history')}/v1/queries/{ANY_TWO}/what-if"
    said = done(asked, httpx.get(url, params={**DAY, "min_threshold": "0.05"}))
    live = matches_of(asked, ANY_TWO)
    assert said["matches"] == len(live) > 5
    by_threshold = {point["threshold"]: point for point in said["curve"]}
    assert by_threshold[said["own_threshold"]]["matches"] == len(live)
    assert said["curve"][0]["threshold"] == 0.05
    assert 0 < by_threshold[0.2]["matches"] < len(live)  # Kamiokande II and IMB reach 0.167
    assert all(point["chance"] >= 0 for point in said["curve"])


@pytest.mark.parametrize("query", QUERIES)
def test_as_live_and_complete_are_the_live_records(asked: System, query: str) -> None:
    url = f"{asked.layout.url('history')}/v1/history-runs"
    now_us = time.time_ns() // 1_000
    as_live = {"query": query, "from": now_us - 3_600_000_000, "to": now_us, "as_live": True}
    for fields in (as_live, {"query": query, **DAY}):
        run = done(asked, httpx.post(url, json=fields))
        counts = httpx.get(f"{url}/{run['run']}/compare", timeout=30).json()["counts"]
        assert counts == {"added": 0, "gone": 0, "changed": 0, "same": run["matches"], "older": 0}
        assert run["matches"] > 0
