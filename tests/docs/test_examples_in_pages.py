"""The configuration of the first tutorial is accepted, and the filter of the topics page shows what the page says."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

import coincide as cc
from coincide.queries import query_from_json
from docs.generate import ROOT
from services.common.settings import load_streams
from services.ingest.registry.sensors_file import load_sensors
from tests.docs.sessions import first_streams
from tests.needs import found
from tests.reference.frames import rows_of

FIRST = (ROOT / "docs/tutorials/first-network.md").read_text(encoding="utf-8")


def test_the_first_network_is_accepted_and_has_the_probability_it_shows(tmp_path: Path) -> None:
    (tmp_path / "streams").write_text(json.dumps({"streams": first_streams(FIRST)}), encoding="utf-8")
    [sensors_json] = re.findall(r"v1/sensors .*?-d '(\{.*?\})'", FIRST, re.DOTALL)
    (tmp_path / "sensors").write_text(sensors_json, encoding="utf-8")
    sensors = load_sensors(tmp_path / "sensors", load_streams(tmp_path / "streams"))
    query = first_query()
    assert list(query["from"].values()) == ["door", "sound"]
    query_from_json({"id": "slam", **query})
    door, mic = sensors["door-contact"].streams["door"], sensors["hall-mic"].streams["sound"]
    edge = query["within"][0]
    late, at_once = (cc.match_probability(door, mic, offset_s, cc.Window(edge["window_s"])) for offset_s in (0.8, 0.0))
    assert f"`probability` is {late:.3g}:" in FIRST
    assert at_once < edge["threshold"] <= late


def test_the_filter_of_the_topics_page_shows_each_detection_in_a_line() -> None:
    [command] = re.findall(r"jq -c '(.*?)'\n```", (ROOT / "docs/reference/topics.md").read_text("utf-8"), re.DOTALL)
    schema = json.loads((ROOT / "docs/contracts/detections.schema.json").read_text("utf-8"))
    frame, _heartbeat = examples = schema["examples"]
    bare = {**frame, "detections": {**frame["detections"]}}
    del bare["detections"]["attributes"]
    records = "".join(json.dumps(each) + "\n" for each in (*examples, bare))
    out = subprocess.run(
        [found("jq"), "-c", command], input=records, text=True, capture_output=True, check=True, timeout=60
    )
    expected = [{"area": frame["area"], **each} for of in (frame, bare) for each in rows_of(of)]
    assert [json.loads(line) for line in out.stdout.splitlines()] == expected


def first_query() -> dict[str, Any]:
    [body] = re.findall(r"queries/slam.*?-d '(\{.*?\})'", FIRST, re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(body)
    return document
