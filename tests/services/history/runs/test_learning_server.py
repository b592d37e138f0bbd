"""Runs that learn templates over HTTP: asked for, followed, read and deleted; the audit trail says by whom."""

import json
import time
from typing import Any

import httpx2
import psutil
import pytest
from msgspec import convert

from coincide.wire.declarations.names import RegisteredName
from coincide.wire.declarations.template_proposal import TemplateProposal
from coincide.wire.fields import LONGEST_NAME
from services.history.runs.calibration_tasks import ByReference
from services.history.runs.run_server import read_learning
from spark_jobs.settings import HistorySettings
from tests.patience import until
from tests.services.history.runs import test_run_server
from tests.services.history.runs.test_learning_run import BAY, BEGIN_US, END_US, TOWN
from tests.services.history.runs.test_learning_run import archive as archive  # noqa: PLC0414 - a fixture
from tests.services.history.runs.test_run_server import Quiet
from tests.services.history.runs.test_run_server import client as client  # noqa: PLC0414
from tests.services.history.runs.test_run_server import proposed as proposed  # noqa: PLC0414
from tests.services.history.runs.test_run_server import quiet as quiet  # noqa: PLC0414
from tests.services.history.runs.test_run_server import records as records  # noqa: PLC0414
from tests.services.history.runs.test_run_server import settings as settings  # noqa: PLC0414
from tests.services.kept_records import KeptRecords
from tests.test_contracts import faults

RUNS = "/v1/learning-runs"
ASKED = {"from": BEGIN_US, "to": END_US, "reference_stream": "truth", "within": [-20, 20]}
MARKUP = "<img src=x onerror=alert(1)>"


def done(client: httpx2.Client, run: str) -> dict[str, Any]:
    until(lambda: client.get(f"{RUNS}/{run}").json()["state"] not in {"queued", "running"}, 60, of=[psutil.Process()])
    said: dict[str, Any] = client.get(f"{RUNS}/{run}").json()
    return said


def test_a_run_is_asked_for_read_and_deleted(
    client: httpx2.Client, proposed: list[TemplateProposal], records: KeptRecords
) -> None:
    reason: Any = {"Change-Reason": "drift in the bay \u2013 slow".encode()}  # httpx2 takes bytes, and its types do not
    asked = client.post(RUNS, json=ASKED, headers=reason)
    assert (asked.status_code, faults("learning-run", asked.json())) == (202, [])
    run = asked.json()["run"]
    said = done(client, run)
    assert (said["state"], faults("learning-run", said)) == ("done", [])
    again = client.post(RUNS, json={**ASKED, "area": None, "streams": None})
    assert (again.status_code, again.json()) == (200, said)
    answer = client.get(f"{RUNS}/{run}/templates")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert {line["sensor"] for line in lines} == {*BAY, *TOWN}
    assert {each.sensor for each in proposed} == {line["sensor"] for line in lines if line["is_proposed"]}
    assert said["proposed"] == len(proposed) > 1
    assert [each["run"] for each in client.get(RUNS).json()["items"]] == [run]
    assert client.get("/v1/history-runs").json()["items"] == []
    assert client.get(f"/v1/history-runs/{run}").status_code == 404
    assert client.get(f"{RUNS}/{run}/matches").status_code == 404
    assert client.delete(f"{RUNS}/{run}/templates").status_code == 405
    assert client.delete(f"{RUNS}/{run}", headers={"Change-Reason": "not needed"}).status_code == 204
    assert client.get(f"{RUNS}/{run}").status_code == client.delete(f"{RUNS}/{run}").status_code == 404
    assert client.get(RUNS).json() == {"items": []}
    told = [(each["action"], each["subject"], each["why"]) for each in records.changes]
    assert told == [
        ("learning_run.asked", run, "drift in the bay \u2013 slow"),
        ("learning_run.deleted", run, "not needed"),
    ]
    assert [faults("audit", each) for each in records.changes] == [[], []]
    assert records.changes[0]["after"] == records.changes[1]["before"] == said["request"]


def test_a_run_over_history_is_none_that_learns(client: httpx2.Client) -> None:
    run = client.post("/v1/history-runs", json={**test_run_server.ASKED, "to": 1}).json()["run"]
    test_run_server.done(client, run)
    assert client.get(RUNS).json() == {"items": []}
    assert client.get(f"{RUNS}/{run}").status_code == client.delete(f"{RUNS}/{run}").status_code == 404
    assert client.get(f"/v1/history-runs/{run}/templates").status_code == 404
    assert client.get(f"/v1/history-runs/{run}").status_code == 200


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"query": "bang"}, "query: unknown; known are from, to, within"),
        ({"from": None}, "from: 'None' is no time"),
        ({"from": "9" * 5000}, "is no time"),
        ({"from": "\u00b2"}, "is no time"),
        ({"to": "2026-11-22T00:00:00"}, "has no offset"),
        ({"to": 0}, "is not before to"),
        ({"to": BEGIN_US + 367 * 86_400 * 10**6}, "the range is longer than 366 days"),
        ({"from": 10**18 - 2, "to": 10**18 - 1}, "no calendar has the time"),
        ({"within": 60}, "within is 60: two numbers in seconds"),
        ({"within": [1, "2"]}, "within is [1, '2']: two numbers in seconds"),
        ({"within": [True, 2]}, "two numbers in seconds"),
        ({"within": [2, -2]}, "within: "),
        ({"within": [-2e9, 0]}, "within: "),
        ({"area": ["bay"]}, "area is ['bay']: a text"),
        ({"area": ""}, "area is '': a text"),
        ({"reference_stream": "x" * (LONGEST_NAME + 1)}, "of 1 to 200 characters"),
        ({"reference_stream": "noise\x07"}, "without control characters"),
        ({"streams": "noise"}, "streams is 'noise': a list of names"),
        ({"streams": []}, "streams has 0 names: 1 to 100"),
        ({"streams": [f"s{nth}" for nth in range(101)]}, "streams has 101 names: 1 to 100"),
        ({"streams": [7]}, "streams is 7: a text"),
        ({"streams": ["truth"]}, "streams has 'truth', the reference_stream"),
        ({"buckets": 0}, "buckets is 0: 1 to 64"),
        ({"buckets": 65}, "buckets is 65: 1 to 64"),
        ({"buckets": 8.5}, "buckets is 8.5: a whole number"),
        ({"buckets": True}, "buckets is True: a whole number"),
    ],
)
def test_what_cannot_be_asked_is_a_problem(quiet: Quiet, more: dict[str, Any], sentence: str) -> None:
    body = json.dumps({**ASKED, **more})
    answer = quiet.client.post(RUNS, content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert sentence in answer.json()["detail"]
    assert len(answer.json()["detail"]) < 400
    assert (quiet.client.get(RUNS).json(), quiet.records.changes) == ({"items": []}, [])


@pytest.mark.parametrize("name", ["b" * LONGEST_NAME, "quai\u00a0nord"])
def test_a_name_that_can_be_registered_can_be_learnt_of(name: str) -> None:
    convert(name, RegisteredName)
    asked = read_learning({**ASKED, "area": name, "reference_stream": name, "streams": [f"{name[1:]}2"]})
    assert (asked.area, asked.reference_stream, asked.streams) == (name, name, (f"{name[1:]}2",))


def test_a_reason_that_is_too_long_stops_it(quiet: Quiet) -> None:
    answer = quiet.client.post(RUNS, json=ASKED, headers={"Change-Reason": "x" * 501})
    assert (answer.status_code, answer.json()["detail"]) == (422, "Change-Reason has 501 bytes: at most 500")
    assert (quiet.client.get(RUNS).json(), quiet.records.changes) == ({"items": []}, [])


@pytest.mark.parametrize("field", ["area", "reference_stream"])
def test_a_name_that_is_markup_is_a_name_that_nothing_has(client: httpx2.Client, field: str) -> None:
    asked = client.post(RUNS, json={**ASKED, field: MARKUP})
    said = done(client, asked.json()["run"])
    assert (said["state"], said["request"][field], faults("learning-run", said)) == ("failed", MARKUP, [])
    missing = client.get(f"{RUNS}/{said['run']}/templates")
    assert (missing.status_code, missing.json()["detail"][:23]) == (409, "there are no templates:")


def test_a_run_at_work_is_cancelled(
    client: httpx2.Client,
    settings: HistorySettings,
    proposed: list[TemplateProposal],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learns = ByReference.__call__
    begun: list[bool] = []

    def slowly(task: Any, rows: Any, progress: Any) -> Any:
        begun.append(True)
        for nth in range(2000):
            progress(nth / 2000)
            time.sleep(0.01)
        return learns(task, rows, progress)

    monkeypatch.setattr(ByReference, "__call__", slowly)
    run = client.post(RUNS, json=ASKED).json()["run"]
    until(lambda: bool(begun), 60, of=[psutil.Process()])
    assert client.delete(f"{RUNS}/{run}").status_code == 204
    until(lambda: client.get(f"{RUNS}/{run}").status_code == 404, 60, of=[psutil.Process()])
    assert proposed == []
    until(lambda: not (settings.runs_path / run).exists(), 60, of=[psutil.Process()])
