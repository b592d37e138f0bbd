"""The line as one process, over HTTP: it tells what an engine tells of the same log, however often it is killed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from deploy.host.machine import ROOT, free_ports
from services.common.local_log.local_log import LocalLog
from services.common.settings import load_streams
from services.common.topics.topic_names import DEFAULT_NAMES
from services.demo.sn1987a import posts
from services.line.fusion_thread import DETECTIONS, QUERIES
from tests.integration.service_process import ServiceProcess, run_module
from tests.patience import until

ASKED = ("sn1987a", "sn1987a-all")  # of which no match supersedes another
KEYS = [sys.executable, "-m", "services.common.access"]
NDJSON = {"Content-Type": "application/x-ndjson"}


@contextmanager
def running(folder: Path, **environ: str) -> Iterator[ServiceProcess]:
    [port] = free_ports(1)
    arguments = "--folder", str(folder), "--port", str(port)
    started = run_module("services.line", folder / "line.log", "ingest", {}, arguments, **environ)
    line = ServiceProcess(port, started)
    try:
        line.wait_for("/components/ingest/readyz", 200)
        line.wait_for("/components/alerting/readyz", 200)
        yield line
    finally:
        line.kill()


def matches_of(line: ServiceProcess, query: str) -> list[str]:
    """Return the ids of all matches of a query that count, page by page."""
    found: list[str] = []
    asked: dict[str, Any] = {"query": query, "limit": 1000}
    while True:
        page = line.call("GET", "/v1/matches", params=asked).raise_for_status().json()
        found += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            return sorted(found)
        asked["cursor"] = page["next_cursor"]


def expected_of(folder: Path) -> dict[str, list[str]]:
    """Return what one engine tells that gets the whole log at once."""
    log = LocalLog(folder / "log.sqlite3")
    try:
        with log.reader() as reader:
            topics = {DEFAULT_NAMES.full(name): name for name in (DETECTIONS, QUERIES)}
            partitions = reader.partitions_of(*topics)
            reader.read_from(dict.fromkeys(partitions))
            records = [each for some in reader.up_to(reader.ends(partitions)) for each in some]
    finally:
        log.close()
    inputs = [InputRecord(topics[each.topic], each.partition, each.offset, each.key, each.value) for each in records]
    output = FusionCore(load_streams(ROOT / "config/streams.yaml"), Limits(), 0).push(inputs)
    matches = [json.loads(each.value) for each in output.matches]
    return {query: sorted(each["id"] for each in matches if each["query"] == query) for query in ASKED}


def test_killed_after_every_post_it_tells_every_match_once_and_under_the_id_that_it_has_anywhere(
    tmp_path: Path,
) -> None:
    for body in posts().values():
        with running(tmp_path) as line:
            line.call("POST", "/v1/detections", content=body, headers=NDJSON).raise_for_status()
    with running(tmp_path) as line:
        until(lambda: len(matches_of(line, "sn1987a-all")) == 440)
        found = {query: matches_of(line, query) for query in ASKED}
    assert found == expected_of(tmp_path)


def test_where_keys_are_needed_the_first_is_made_beside_the_running_line(tmp_path: Path) -> None:
    with running(tmp_path, COINCIDE_INGEST_REQUIRE_KEYS="true", COINCIDE_ALERTING_REQUIRE_KEYS="true") as line:
        refused = line.call("GET", "/v1/sensors")
        assert refused.status_code == 401
        assert "python -m services.common.access --log FILE create --scope admin" in refused.json()["detail"]
        create = ["--log", str(tmp_path / "log.sqlite3"), "create", "--scope", "read"]
        made = subprocess.run([*KEYS, *create], capture_output=True, text=True, cwd=ROOT, check=True)
        key = {"Authorization": f"Bearer {made.stdout.strip()}"}
        until(lambda: line.call("GET", "/v1/sensors", headers=key).status_code == 200)
        until(lambda: line.call("GET", "/v1/matches", headers=key).status_code == 200)
        assert line.call("DELETE", "/v1/sensors/imb", headers=key).status_code == 403
        listed = subprocess.run([*KEYS, *create[:2], "list"], capture_output=True, text=True, cwd=ROOT, check=True)
        assert "read" in listed.stdout
    of_none = [*KEYS, "--log", str(tmp_path / "none"), "list"]
    missing = subprocess.run(of_none, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (missing.returncode, "there is no log" in missing.stderr) == (1, True)


def test_it_stops_in_order_and_says_nothing_but_what_is_so(tmp_path: Path) -> None:
    with running(tmp_path) as line:
        assert line.call("GET", "/").status_code == 200
        assert {each["id"] for each in line.call("GET", "/v1/sensors").json()["items"]} >= {"imb", "mic-1"}
        query = {
            "from": {"a": "noise", "b": "noise"},
            "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}],
        }
        assert line.call("PUT", "/v1/queries/own", json=query).status_code == 201
        assert line.call("GET", "/v1/queries/own/explain").json()["version"] == 1  # by its second process
        with httpx2.stream("GET", f"{line.url}/v1/live", timeout=30.0) as live:
            pieces = live.iter_text()
            assert next(pieces).startswith(": open")
            assert line.stop() == 0
            list(pieces)  # which raises where the stream was cut off
    assert '"level": "error"' not in (tmp_path / "line.log").read_text()
