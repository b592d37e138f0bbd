"""What the README shows works as pasted: each shell block against the running system, the Python block as it is."""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.local.demo import applied_query, wait_for_episode
from deploy.local.machine import ROOT
from deploy.local.sn1987a import TWO_OF_THREE
from deploy.local.system import System
from tests.patience import until

README = (ROOT / "README.md").read_text(encoding="utf-8")
#: The shell blocks that talk to the system, in the order in which they stand there.
CURLS = [block for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "curl" in block]


def run(curl: str, system: System) -> str:
    for port, name in (("8010", "ingest"), ("8020", "alerting")):
        curl = curl.replace(f"http://127.0.0.1:{port}", system.layout.url(name))
    done = subprocess.run(["bash", "-ec", curl], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def answers(system: System, neutrinos: object) -> Iterator[list[str]]:
    """The answers of the README's curls, on the demo's data."""
    wait_for_episode(system, TWO_OF_THREE, 440)
    applied_query(system, "bang")
    post, matches, *others = CURLS
    posted = run(post, system)
    until(lambda: bool(json.loads(run(matches, system))["items"]))
    yield [posted, *(run(curl, system) for curl in (matches, *others))]
    system.alerting.delete("/v1/queries/two-mics", headers={"If-Match": "*"})


@pytest.mark.jvm
def test_each_curl_gets_what_the_text_promises(answers: list[str]) -> None:
    post, matches, episodes, put, explained, patch, live, dead = answers
    assert [each["status"] for each in json.loads(post)["detections"]] == ["accepted"] * 3
    assert {item["query"] for item in json.loads(matches)["items"]} == {"bang"}
    [episode] = json.loads(episodes)["items"]
    assert (episode["count"], len(episode["members"])) == (440, 24)
    assert json.loads(put)["version"] == 1
    assert json.loads(put)["explanation"]["is_reachable"] is True
    assert "can reach the threshold 0.3" in "".join(json.loads(explained)["sentences"])
    assert json.loads(patch)["query"]["within"][0]["threshold"] == 0.2
    assert live.count("event: match") >= 183
    assert "items" in json.loads(dead)


def test_every_example_works_an_hour_later() -> None:
    """A detection with a date of its own would be late by then: the area's watermark has moved on."""
    assert CURLS
    assert not [curl for curl in CURLS if re.search(r"detected_at[^$%]*\d{4}-\d\d-\d\d", curl)]


def test_the_python_block_says_what_it_shows() -> None:
    [block] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["join"].push("imb", names["a"]).insert.probability.round(4).tolist() == [0.3571] * 2
    assert names["cc"].timing_join(names["a"], names["b"], names["cc"].Window(10), 0.3).probability.max() > 0.35
