"""The whole system with its archive: the past is asked over HTTP, and says what was live."""

import time
from typing import Any

import httpx2
import numpy as np
import pytest

from coincide import Histogram
from deploy.local.system import System
from services.demo.sn1987a import ANY_TWO, QUERIES
from tests.integration.service_process import archived_rows
from tests.patience import until

pytestmark = pytest.mark.jvm

Live = dict[str, list[dict[str, Any]]]

LAB_US = 546_307_200_000_000  # two months after the neutrinos
DAY = {"from": "1987-02-23T00:00:00Z", "to": "1987-02-24T00:00:00Z"}


def done(system: System, answer: httpx2.Response) -> dict[str, Any]:
    url = f"{system.layout.url('history')}/v1/history-runs/{answer.json()['run']}"
    until(lambda: httpx2.get(url).json()["state"] not in {"queued", "running"})
    said: dict[str, Any] = httpx2.get(url).json()
    assert said["state"] == "done", said
    return said


def test_what_if_over_the_archive_has_the_matches_that_are_live(system: System, neutrinos: Live) -> None:
    url = f"{system.layout.url('history')}/v1/queries/{ANY_TWO}/what-if"
    said = done(system, httpx2.post(url, json={**DAY, "min_threshold": 0.05}))
    live = neutrinos[ANY_TWO]
    assert said["matches"] == len(live) > 5
    by_threshold = {point["threshold"]: point for point in said["curve"]}
    assert by_threshold[said["own_threshold"]]["matches"] == len(live)
    assert said["curve"][0]["threshold"] == 0.05
    assert 0 < by_threshold[0.2]["matches"] < len(live)  # Kamiokande II and IMB reach 0.167
    assert all(point["chance"] >= 0 for point in said["curve"])


@pytest.mark.parametrize("query", QUERIES)
def test_as_live_and_complete_are_the_live_records(system: System, neutrinos: Live, query: str) -> None:
    url = f"{system.layout.url('history')}/v1/history-runs"
    now_us = time.time_ns() // 1_000
    as_live = {"query": query, "from": now_us - 3_600_000_000, "to": now_us, "as_live": True}
    for fields in (as_live, {"query": query, **DAY}):
        run = done(system, httpx2.post(url, json=fields))
        counts = httpx2.get(f"{url}/{run['run']}/compare", timeout=30).json()["counts"]
        assert counts == {"added": 0, "gone": 0, "changed": 0, "same": run["matches"], "older": 0}
        assert run["matches"] > 0


def _template_of_mic(ingest: str) -> Histogram:
    named = httpx2.get(f"{ingest}/v1/sensors/mic").json()["streams"]["noise"]
    of = httpx2.get(f"{ingest}/v1/templates/{named}").raise_for_status().json()
    return Histogram(of["edges_s"], of["mass"])


def test_a_template_is_learnt_proposed_and_accepted(system: System) -> None:
    """A microphone that is said to be up to 8 s late is 5 s late, as a geophone that is right tells."""
    ingest, alerting = system.layout.url("ingest"), system.layout.url("alerting")
    for name, streams in (("geo", {"seismic": {"point": True}}), ("mic", {"noise": {"uniform": [-8, 0]}})):
        httpx2.put(f"{ingest}/v1/sensors/{name}", json={"area": "lab", "streams": streams}).raise_for_status()
    late_us = np.rint(np.random.default_rng(1987).normal(5e6, 2e5, 100)).astype(int).tolist()
    truth_us = [LAB_US + nth * 60_000_000 for nth in range(100)]
    times_us = {"geo": truth_us, "mic": [at_us + late for at_us, late in zip(truth_us, late_us, strict=True)]}
    items = [
        {"sensor": name, "id": f"{name}-{nth}", "detected_at": at_us}
        for name, of in times_us.items()
        for nth, at_us in enumerate(of)
    ]
    rows = archived_rows(system.layout.url("archive"))
    assert httpx2.post(f"{ingest}/v1/detections", json=items).json()["accepted"] == len(items)
    until(lambda: archived_rows(system.layout.url("archive")) >= rows + len(items))
    fields = {"from": LAB_US, "to": LAB_US + 7_200_000_000, "within": [-20, 20], "reference_stream": "seismic"}
    why = {"Change-Reason": "the microphone is slow"}
    run = httpx2.post(f"{alerting}/v1/learning-runs", json=fields, headers=why, timeout=30).json()["run"]
    path = f"{alerting}/v1/learning-runs/{run}"
    until(lambda: httpx2.get(path).json()["state"] not in {"queued", "running"})
    said = httpx2.get(path).json()
    assert (said["state"], said["detections"], said["proposed"]) == ("done", 200, 1), said
    [proposal] = httpx2.get(f"{ingest}/v1/template-proposals", params={"state": "open"}, timeout=30).json()["items"]
    assert (proposal["sensor"], proposal["stream"], proposal["errors"]) == ("mic", "noise", 100)
    before = _template_of_mic(ingest)
    httpx2.post(f"{ingest}/v1/template-proposals/{proposal['id']}/accept", timeout=30).raise_for_status()
    assert before.mean_s == -4
    until(lambda: _template_of_mic(ingest).mean_s == pytest.approx(-5, abs=0.1))
    audit = httpx2.get(f"{alerting}/v1/audit", params={"subject": run}, timeout=30).json()["items"]
    assert [(each["component"], each["action"], each["why"]) for each in audit if each["subject"] == run] == [
        ("history", "learning_run.asked", "the microphone is slow")
    ]
