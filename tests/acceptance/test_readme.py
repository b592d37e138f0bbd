"""What the README shows works as pasted: each shell block against the running system, the Python block as it is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.host.machine import ROOT
from deploy.local.system import System
from services.demo.programme import applied_query
from tests.docs.page_blocks import read_blocks
from tests.docs.page_runs import PageRun, nothing_left
from tests.on_lines import on_both_whole

BLOCKS = [block for block in read_blocks(ROOT / "README.md") if block.is_run]
#: The shell blocks that talk to the system, in the order in which they stand there.
CURLS = [block for block in BLOCKS if "curl" in block.code]
COMMANDS = [block for block in BLOCKS if block.code.startswith("coincide")]


@pytest.fixture
def answers(whole: System, live: object, tmp_path: Path) -> Iterator[list[str]]:
    """The answers of the README's curls, on the demo's data."""
    applied_query(whole, "bang")
    with nothing_left(whole), PageRun(tmp_path, whole) as page:
        yield [page.run(block) for block in CURLS]


@on_both_whole
def test_each_curl_gets_what_the_text_promises(answers: list[str]) -> None:
    post, matches, episodes, put, explained, patch, live, dead = answers
    assert [each["status"] for each in json.loads(post)["detections"]] == ["accepted"] * 3
    assert {item["query"] for item in json.loads(matches)["items"]} == {"bang"}
    [episode] = json.loads(episodes)["items"]
    assert (episode["count"], len(episode["members"])) == (1, 3)
    assert episode["evidence"]["posterior"] == pytest.approx(0.978, abs=0.001)
    assert json.loads(put)["version"] == 1
    assert json.loads(put)["explanation"]["is_reachable"] is True
    assert "can reach the threshold 0.3" in "".join(json.loads(explained)["sentences"])
    assert json.loads(patch)["query"]["within"][0]["threshold"] == 0.2
    assert live.count("event: match") >= 183
    assert "items" in json.loads(dead)


def test_every_example_works_an_hour_later() -> None:
    """A detection with a date of its own would be late by then: the area's watermark has moved on."""
    assert CURLS
    assert not [curl for curl in CURLS if re.search(r"detected_at[^$%]*\d{4}-\d\d-\d\d", curl.code)]


def test_each_command_answers_more_than_a_header(tmp_path: Path) -> None:
    assert len(COMMANDS) == 3
    with PageRun(tmp_path) as page:
        assert all(len(page.run(block).splitlines()) >= 2 for block in COMMANDS)


def test_the_python_block_says_what_it_shows() -> None:
    [block] = [each for each in BLOCKS if each.kind == "python"]
    names: dict[str, Any] = {}
    exec(block.code, names)
    assert names["join"].push("imb", names["a"]).insert.probability.round(4).tolist() == [0.3571] * 2
    assert names["cc"].timing_join(names["a"], names["b"], names["cc"].Window(10), 0.3).probability.max() > 0.35
