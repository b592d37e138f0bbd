"""A line in one process becomes a system on Kafka and Spark, and a line again: it knows what it knew."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from deploy.host.machine import ROOT
from deploy.local.backup import start_kafka
from deploy.local.layout import Layout
from deploy.local.system import System
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.records import Record
from services.common.settings import load_streams
from services.common.topics.topic_names import DEFAULT_NAMES
from tests.integration.line_process import LineProcess, running_line
from tests.patience import until

pytestmark = [pytest.mark.jvm, pytest.mark.night]

OWN = {"COINCIDE_FUSION_QUIET_S": "null"}  # an area waits for its second microphone for as long as it takes
QUERY = {
    "from": {"a": "noise", "b": "noise"},
    "within": [{"between": ["a", "b"], "window_s": 0.1, "threshold": 0.7}],  # pairs 0.1 s apart reach 0.5
    "sensors": "different",
}
THRESHOLD = "/v1/queries/heard/threshold"
ANY_VERSION = {"If-Match": "*"}
BEGAN_S = time.time_ns() // 1_000_000_000 - 600


def heard(area: str, name: str, which: str, after_s: int, *, apart_us: int = 100_000) -> list[dict[str, Any]]:
    """Return what microphones of an area hear one after the other."""
    at_us = (BEGAN_S + after_s) * 1_000_000
    return [
        {"sensor": f"{area}-{each}", "detected_at": at_us + "ab".index(each) * apart_us, "id": name} for each in which
    ]


def ids_of(matches: list[dict[str, Any]]) -> dict[str, str]:
    """The id of each match, by what was heard."""
    return {each["members"][0]["id"]: each["id"] for each in matches}


def versions_of(matches: list[dict[str, Any]]) -> dict[str, int]:
    return {each["members"][0]["id"]: each["query_version"] for each in matches}


def live(line: LineProcess) -> None:
    """Use the line: a query whose threshold changes, and a match of which it hears the first half."""
    for area in ("quay", "pier"):
        for each in "ab":
            line.put(f"/v1/sensors/{area}-{each}", {"area": area, "streams": {"noise": {"uniform": [-0.1, 0.1]}}})
    line.put("/v1/queries/heard", QUERY)
    line.post(*heard("quay", "before the change", "ab", 0), *heard("pier", "both lives", "a", 1))
    line.post(*heard("quay", "at once", "ab", 2, apart_us=0))
    until(lambda: ids_of(line.matches("heard")).keys() == {"at once"})
    changed = line.call("PATCH", THRESHOLD, json={"threshold": 0.3}, headers=ANY_VERSION)
    assert changed.json()["version"] == 2
    line.post(*heard("quay", "told", "ab", 3))
    until(lambda: ids_of(line.matches("heard")).keys() == {"at once", "told"})


def grow(folder: Path, layout: Layout, *options: str) -> subprocess.CompletedProcess[str]:
    places = [
        "--checkpoint",
        str(layout.runtime / "checkpoint"),
        "--database",
        str(layout.runtime / "alerting.sqlite3"),
    ]
    command = [sys.executable, "-m", "coincide", "grow", "--folder", str(folder), "--kafka", layout.bootstrap]
    return subprocess.run([*command, *places, *options], capture_output=True, text=True, cwd=ROOT, check=False)


def records_of(layout: Layout, *topics: str) -> list[Record]:
    log = KafkaLog(layout.kafka)
    try:
        with log.reader() as reader:
            partitions = reader.partitions_of(*map(DEFAULT_NAMES.full, topics))
            reader.read_from(dict.fromkeys(partitions))
            return [each for some in reader.up_to(reader.ends(partitions)) for each in some]
    finally:
        log.close()


def expected_ids(layout: Layout) -> dict[str, str]:
    """Return the ids that one engine gives that gets all at once, under the query as it is now."""
    inputs = [
        InputRecord(name, each.partition, each.offset, each.key, each.value)
        for name in ("detections", "queries")
        for each in records_of(layout, name)
    ]
    core = FusionCore(load_streams(ROOT / "config/streams.yaml"), Limits(quiet_s=None), 0)
    matches = [json.loads(each.value) for each in core.push(inputs).matches]
    return ids_of([each for each in matches if each["query"] == "heard"])


def ids_told(layout: Layout) -> list[str]:
    told = [json.loads(each.value or b"") for each in records_of(layout, "matches")]
    return [each["id"] for each in told if each["query"] == "heard"]


def matches_of(system: System) -> list[dict[str, Any]]:
    answer = system.alerting.get("/v1/matches", params={"query": "heard", "limit": 1000})
    found: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return found


def grow_up(folder: Path, system: System) -> None:
    """Carry the line over, and see that it is neither served nor carried over again."""
    start_kafka(system)
    grown = grow(folder, system.layout)
    assert grown.returncode == 0, grown.stderr
    assert "coincide.detections: " in grown.stdout
    again = grow(folder, system.layout)
    assert (again.returncode, "has been copied" in again.stderr) == (1, True), again.stderr
    system.down()
    system.up()


def test_a_match_that_began_in_one_process_ends_on_spark_and_all_goes_back_into_one_process(tmp_path: Path) -> None:
    line_folder, back = tmp_path / "line", tmp_path / "back"
    system = System(Layout.isolated(tmp_path / "system", OWN))
    with running_line(line_folder) as line:
        live(line)
        told = {each["id"]: each for each in line.matches("heard")}
        versions = line.call("GET", "/v1/queries/heard/versions").json()
        refused = grow(line_folder, system.layout)
        assert (refused.returncode, "stop the line there first" in refused.stderr) == (1, True), refused.stderr
        assert line.stop() == 0
    try:
        grow_up(line_folder, system)
        assert system.alerting.get("/v1/queries/heard/versions").json() == versions
        assert {each["id"] for each in matches_of(system)} == told.keys()

        changed = system.alerting.patch(THRESHOLD, json={"threshold": 0.45}, headers=ANY_VERSION)
        assert changed.json()["version"] == 3
        second = heard("pier", "both lives", "b", 1)
        assert system.ingest.post("/v1/detections", json=second).status_code == 202
        until(lambda: "both lives" in ids_of(matches_of(system)))
        found, expected = ids_of(matches_of(system)), expected_ids(system.layout)
        assert found == {name: id_ for name, id_ in expected.items() if name != "before the change"}
        assert versions_of(matches_of(system)) == {"at once": 1, "told": 2, "both lives": 3}
        assert sorted(ids_told(system.layout)) == sorted(found.values())

        system.stop(["ingest", "alerting", "fusion", "console"])
        returned = grow(back, system.layout, "--back")
        assert returned.returncode == 0, returned.stderr
    finally:
        system.down()
    with running_line(back) as line:
        line.post(*heard("quay", "home", "ab", 4))
        until(lambda: "home" in ids_of(line.matches("heard")))
        home = ids_of(line.matches("heard"))
        assert {name: id_ for name, id_ in home.items() if name != "home"} == expected
