"""The past of a line in one process, over HTTP: runs say what was said live, and the archive has every row once."""

import json
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq

from services.common.clock import system_clock_us
from services.demo.sn1987a import posts
from services.history.archiving.layout import DAY_US
from tests.integration.service_process import ServiceProcess
from tests.patience import until
from tests.services.line.test_line import NDJSON, expected_of, matches_of, running
from tests.test_contracts import faults

RANGE = {"from": "1987-02-23T00:00:00Z", "to": "1987-02-24T00:00:00Z"}
HURRIED = str(Path(__file__).parent / "hurried")
ENDED = {"done", "failed", "cancelled"}


def post_all(line: ServiceProcess) -> None:
    for body in posts().values():
        line.call("POST", "/v1/detections", content=body, headers=NDJSON).raise_for_status()
    until(lambda: len(matches_of(line, "sn1987a-all")) == 440)


def asked(line: ServiceProcess, **fields: Any) -> str:
    answer = line.call("POST", "/v1/history-runs", json=fields)
    assert answer.status_code in {200, 202}, answer.text
    run: str = answer.json()["run"]
    return run


def ended(line: ServiceProcess, run: str) -> dict[str, Any]:
    until(lambda: summary(line, run)["state"] in ENDED, of=[line.process])
    said = summary(line, run)
    assert faults("history-run", said) == []
    return said


def summary(line: ServiceProcess, run: str) -> dict[str, Any]:
    said: dict[str, Any] = line.call("GET", f"/v1/history-runs/{run}").raise_for_status().json()
    return said


def learnt(line: ServiceProcess, run: str) -> dict[str, Any]:
    said: dict[str, Any] = line.call("GET", f"/v1/learning-runs/{run}").raise_for_status().json()
    return said


def rows_in(folder: Path) -> int:
    """Return how many detections the archive has, as a reader sees it that knows nothing of it."""
    return sum(len(pq.ParquetFile(path).read()) for path in (folder / "archive/detections").rglob("*.parquet"))


def ids_of(line: ServiceProcess, run: str) -> list[str]:
    lines = line.call("GET", f"/v1/history-runs/{run}/matches").raise_for_status().text.splitlines()
    return sorted(json.loads(each)["id"] for each in lines)


def test_a_run_finds_what_was_said_live_whether_it_asks_what_is_true_or_what_was_said(tmp_path: Path) -> None:
    with running(tmp_path, PYTHONPATH=HURRIED) as line:
        post_all(line)
        complete = ended(line, run := asked(line, query="sn1987a-all", **RANGE))
        assert (complete["state"], complete.get("error"), complete["request"]["source"]) == ("done", None, "archive")
        assert ids_of(line, run) == matches_of(line, "sn1987a-all")
        now_us = system_clock_us()
        today = {"from": str(now_us - DAY_US), "to": str(now_us + DAY_US)}
        live = ended(line, as_live := asked(line, query="sn1987a", as_live=True, **today))
        assert (live["state"], live.get("error")) == ("done", None)
        found = ids_of(line, as_live)
        compared = line.call("GET", f"/v1/history-runs/{as_live}/compare").raise_for_status().json()
        assert compared["counts"] == {"added": 0, "gone": 0, "changed": 0, "same": len(found), "older": 0}
        what_if = {**RANGE, "min_threshold": 0.1}
        answer = line.call("POST", "/v1/queries/sn1987a/what-if", json=what_if).raise_for_status().json()
        curve = ended(line, answer["run"])["curve"]
        assert curve[0]["threshold"] == 0.1
        learning = line.call("POST", "/v1/learning-runs", json=RANGE).raise_for_status().json()["run"]
        until(lambda: learnt(line, learning)["state"] in ENDED, of=[line.process])
        assert (learnt(line, learning)["state"], learnt(line, learning)["detections"]) == ("done", rows_in(tmp_path))
        until(lambda: not psutil.Process(line.process.pid).children())  # the second process ends with its task
    assert "ended, try" not in (tmp_path / "line.log").read_text(), "each task ends well, and is done once"
    assert found == expected_of(tmp_path)["sn1987a"]


def test_a_run_as_live_tells_the_evidence_that_is_live(tmp_path: Path) -> None:
    with running(tmp_path, PYTHONPATH=HURRIED) as line:
        pairs = line.call("GET", "/v1/queries/sn1987a-two-of-three").raise_for_status().json()["query"]
        sure = {name: value for name, value in pairs.items() if name not in {"id", "coalesce", "alert"}}
        sure["event"] = {"per_day": 1, "heard_by": 0.8}
        line.call("PUT", "/v1/queries/sure", json=sure).raise_for_status()
        post_all(line)
        later = json.dumps(
            {"sensor": "imb", "stream": "neutrino", "detected_at": "1987-02-25T00:00:00Z"}
        )  # then nothing can join any more
        line.call("POST", "/v1/detections", content=later, headers=NDJSON).raise_for_status()
        until(lambda: None not in evidence_of(line).values(), of=[line.process])
        now_us = system_clock_us()
        run = asked(line, query="sure", as_live=True, **{"from": str(now_us - DAY_US), "to": str(now_us + DAY_US)})
        said = ended(line, run)
        lines = line.call("GET", f"/v1/history-runs/{run}/matches").raise_for_status().text.splitlines()
        live = evidence_of(line)
        compared = line.call("GET", f"/v1/history-runs/{run}/compare").raise_for_status().json()["evidence"]
    told = {match["id"]: match["evidence"] for match in map(json.loads, lines)}
    assert {id_: told[id_] for id_ in live} == live
    assert len(live) > 10
    assert (said["evidence"], said["evidence_to_come"]) == (len(told), 0)
    assert compared == {"counts": {"added": 0, "gone": 0, "changed": 0, "same": len(told)}, "changed": []}


def evidence_of(line: ServiceProcess) -> dict[str, Any]:
    """Return the evidence of the newest matches of the query, by their ids; there is a match."""
    page = line.call("GET", "/v1/matches", params={"query": "sure", "limit": 1000}).raise_for_status().json()
    return {each["id"]: each["evidence"] for each in page["items"]} or {"": None}


def test_a_run_whose_process_is_killed_says_the_same_later_and_one_that_the_line_left_is_done_by_the_next(
    tmp_path: Path,
) -> None:
    with running(tmp_path, PYTHONPATH=HURRIED) as line:
        post_all(line)
        run = asked(line, query="sn1987a-all", **RANGE)
        killed = second_process_of(line)
        killed.kill()
        until(lambda: not killed.is_running() or killed.status() == psutil.STATUS_ZOMBIE)
        assert ended(line, run)["state"] == "done"
        assert ids_of(line, run) == (expected := matches_of(line, "sn1987a-all"))
        left = asked(line, query="sn1987a-all", **{**RANGE, "to": "1987-02-23T23:00:00Z"})
        orphan = second_process_of(line)
    until(lambda: not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE)
    with running(tmp_path, PYTHONPATH=HURRIED) as line:
        assert ended(line, left)["state"] == "done"
        assert ids_of(line, left) == expected


def second_process_of(line: ServiceProcess) -> psutil.Process:
    until(lambda: bool(psutil.Process(line.process.pid).children()), every_s=0.01)
    [process] = psutil.Process(line.process.pid).children()
    return process
