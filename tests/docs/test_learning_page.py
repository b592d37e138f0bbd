"""The page on learning shows what its commands write; the explanation and the morning what the study computes."""

import json
from pathlib import Path

import pytest

from coincide.queries import Query
from docs.generate import ROOT
from docs.studies import learning
from docs.studies.picks import load_picks
from services.common.settings import load_streams
from services.ingest.registry.sensors_file import load_sensors
from tests.docs.page_blocks import read_blocks
from tests.docs.page_runs import PageRun
from tests.docs.sessions import blocks, first_streams, needs_data

PATH = ROOT / "docs/how-to/learn-templates.md"
PAGE = PATH.read_text(encoding="utf-8")
EXPLAINED = (ROOT / "docs/explanation/learning.md").read_text(encoding="utf-8")
MORNING = (ROOT / "docs/background/earthquake-morning.md").read_text(encoding="utf-8")
FIRST = (ROOT / "docs/tutorials/first-network.md").read_text(encoding="utf-8")


def test_the_commands_write_what_the_page_shows(tmp_path: Path) -> None:
    """The run of the page compares what they say."""
    with PageRun(tmp_path) as page:
        for block in read_blocks(PATH):
            if block.code.startswith("coincide learn "):
                page.run(block)
    (tmp_path / "streams.yaml").write_text(json.dumps({"streams": first_streams(FIRST)}), encoding="utf-8")
    written = load_sensors(page.here / "learnt.yaml", load_streams(tmp_path / "streams.yaml"))
    assert sorted(written) == ["hall-mic", "porch-mic"]
    shown, *_ = blocks(PAGE, "yaml")
    assert shown == (page.here / "learnt.yaml").read_text(encoding="utf-8")
    assert (page.here / "learnt.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_query_is_that_of_the_file_and_its_threshold_the_least_that_chance_allows() -> None:
    [shown] = blocks(PAGE, "json")
    assert shown == (ROOT / "docs/how-to/learn-templates/heard-twice.json").read_text(encoding="utf-8")
    query = Query.from_json({"id": "heard-twice", **json.loads(shown)})
    assert f"From a threshold of {query.within[0].threshold:g} on, chance gives at most 1 match a day.\n" in PAGE


@pytest.mark.night
def test_what_is_simulated_is_as_the_page_shows() -> None:
    for row in learning.rows_of_simulation():
        assert row in EXPLAINED


@pytest.mark.slow
def test_what_others_agree_on_is_as_the_page_shows() -> None:
    for row in learning.rows_of_consensus():
        assert row in EXPLAINED


@needs_data
@pytest.mark.slow
def test_the_page_of_the_morning_shows_what_is_learnt() -> None:
    picks = load_picks()
    calibrations = learning.learnt_from_log(picks)
    count, distance = learning.distance_of_all(picks, calibrations)
    assert f"{count:,} later errors" in MORNING
    assert f"distance of {distance:.3f}" in MORNING
    for row in (*learning.rows_of_levels(picks, calibrations), *learning.rows_of_precision(picks, calibrations)):
        assert row in MORNING
