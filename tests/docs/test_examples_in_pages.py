"""What tutorials and how-to pages show in Python is what comes out, and their configuration is accepted."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import coincide as cc
from coincide.queries import query_from_json
from docs.generate import ROOT
from services.common.declared_streams import load_streams
from services.ingest.registry.sensors_file import load_sensors

PAGES = [path for kind in ("tutorials", "how-to") for path in sorted((ROOT / "docs" / kind).glob("*.md"))]
SESSIONS = [path for path in PAGES if "```python\n>>>" in path.read_text(encoding="utf-8")]
FIRST = (ROOT / "docs/tutorials/first-network.md").read_text(encoding="utf-8")


def blocks(page: str, kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_the_python_shown_says_what_it_shows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    session = "\n".join(blocks(path.read_text(encoding="utf-8"), "python"))
    test = doctest.DocTestParser().get_doctest(session, {}, path.name, str(path), 0)
    assert len(test.examples) >= 3
    assert doctest.DocTestRunner().run(test).failed == 0


def test_there_are_sessions() -> None:
    assert {path.stem for path in SESSIONS} >= {"from-my-log-to-my-template", "choose-a-threshold"}


def test_the_first_network_is_accepted_and_has_the_probability_it_shows(tmp_path: Path) -> None:
    streams_yaml, sensors_yaml = blocks(FIRST, "yaml")
    for name, text in (("streams", streams_yaml), ("sensors", sensors_yaml)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    sensors = load_sensors(tmp_path / "sensors", load_streams(tmp_path / "streams"))
    query = first_query()
    assert list(query["from"].values()) == ["door", "sound"]
    query_from_json({"id": "slam", **query})
    door, mic = sensors["door-contact"].streams["door"], sensors["hall-mic"].streams["sound"]
    edge = query["within"][0]
    late, at_once = (cc.match_probability(door, mic, offset_s, cc.Window(edge["window_s"])) for offset_s in (0.8, 0.0))
    assert f"`probability` is {late:.3g}:" in FIRST
    assert at_once < edge["threshold"] <= late


def first_query() -> dict[str, Any]:
    [body] = re.findall(r"queries/slam.*?-d '(\{.*?\})'", FIRST, re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(body)
    return document


def test_the_learnt_template_is_accepted(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorials/from-my-log-to-my-template.md").read_text(encoding="utf-8")
    [sensors_yaml] = blocks(page, "yaml")
    (tmp_path / "sensors").write_text(sensors_yaml, encoding="utf-8")
    (tmp_path / "streams").write_text(blocks(FIRST, "yaml")[0], encoding="utf-8")
    assert list(load_sensors(tmp_path / "sensors", load_streams(tmp_path / "streams"))) == ["hall-mic"]
