"""Runs over an archive on disk of queries that ask where sensors are."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coincide.places import FramePlace
from coincide.queries import Query
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.replaying.request import RunError, RunRequest
from tests.services.history.replaying.test_answers import frames_of, some_rows, table_of
from tests.services.history.replaying.test_hosts_agree import PATIENT_S
from tests.services.history.replaying.test_places_of_runs import live, plain, standing
from tests.services.history.runs.test_run import chunks_of, run_of, written
from tests.services.history.small_chunks import cut_small
from tests.test_contracts import faults

STANDS = {f"{stream}-{nth}": FramePlace(300 * nth, 200 * (stream == "s")) for stream in "ps" for nth in range(2)}
ROWS = [replace(row, place=STANDS.get(row.sensor)) for row in some_rows(3, 300)]
SOUND = {"speed_m_s": 343, "slack_s": 0.3, "up_to_m": 2000}
NEAR = {
    "id": "near",
    "from": {"a": "p", "b": "s"},
    "within": [{"between": ["a", "b"], **SOUND, "threshold": 0.3}],
    "coalesce": {"gap_s": 1},
}
SETS = {
    "id": "sets",
    "from": {"a": "p", "b": "s", "c": "p"},
    "form": "clique",
    "within": [{**SOUND, "threshold": 0.2}],
    "at_least": 2,
}


@pytest.mark.parametrize("query", [NEAR, SETS], ids=["near", "sets"])
def test_the_chunks_of_an_archive_have_the_matches_of_the_job_and_count_who_has_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: dict[str, Any]
) -> None:
    archive, frames = Archive.opened(tmp_path / "placed", 3), frames_of(ROWS)
    table, templates = table_of(frames)
    archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
    archive.write(table, batch_file(0, 0, 0))
    cut_small(monkeypatch, archive.files())
    run = run_of(archive, query)
    assert len([keys for each in range(3) for keys in chunks_of(archive, run.request, each)]) > 3
    summary = run.execute()
    expected = standing(live(query, [frames], PATIENT_S, None))
    assert {match["id"]: plain(match) for match in written(run)} == expected
    assert summary["matches"] == len(expected) > 10
    asked = set(query["from"].values())
    assert summary["no_place"] == sum(row.place is None and row.stream in asked for row in ROWS) > 10
    assert faults("history-run", summary) == []
    [own] = [point for point in summary["curve"] if point["threshold"] == summary["own_threshold"]]
    assert own["matches"] == len(expected)
    if "coalesce" in query:
        assert 0 < own["episodes"] <= len(expected)


def test_time_slides_are_not_asked_of_such_a_query() -> None:
    with pytest.raises(RunError, match="asks where sensors are: slides cannot tell what chance gives it"):
        RunRequest(Query.from_json(NEAR), 0, 10, slides=3)
