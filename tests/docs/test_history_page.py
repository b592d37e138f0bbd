"""The page on asking the past: its commands and blocks that need no live system run as they stand."""

import json
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from docs.generate import ROOT
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from spark_jobs.history import _parser, main
from tests.coincide.fusion.inputs import Row, frame
from tests.docs.sessions import blocks
from tests.services.history.replaying.test_answers import TEMPLATES, table_of

PAGE = (ROOT / "docs/how-to/ask-the-past.md").read_text(encoding="utf-8")
COMMANDS = [
    command
    for block in blocks(PAGE, "sh")
    for command in block.replace("\\\n", "").splitlines()
    if command.startswith("python -m spark_jobs.history")
]
DAYS = ("2026-11-21", "2026-11-22")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an archive of two days, the query, and the settings that ship."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").symlink_to(ROOT / "config")
    for block in blocks(PAGE, "sh"):
        if block.startswith("cat >"):
            subprocess.run(["bash", "-ec", block], check=True, timeout=60)
    for name, value in re.findall(r"export (COINCIDE_HISTORY_ARCHIVE_PATH)=(\S+)", PAGE):
        monkeypatch.setenv(name, value)
    archive = Archive.opened(tmp_path / ".local/archive", 4)
    for batch, day in enumerate(DAYS):
        table, templates = table_of([frame(0, rows_of(day, batch))])
        archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
        archive.write(table, batch_file(batch, 0, 0))
    return tmp_path


def rows_of(day: str, seed: int) -> list[Row]:
    begin_s = datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()
    rng = np.random.default_rng(seed)
    return [
        Row(f"{seed}-{nth}", begin_s + at_s, TEMPLATES[nth % 3], ("seismic", "acoustic")[nth % 2], f"s-{nth % 4}")
        for nth, at_s in enumerate(np.sort(rng.uniform(3600, 3660, 80)).round(2).tolist())
    ]


def said_by(command: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(shlex.split(command, comments=True)[3:]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    return said


def test_the_commands_of_the_page_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, on_cluster, lower, _live, two_runs = COMMANDS
    first = said_by(plain, capsys)
    assert (first["state"], first["detections"]) == ("done", 80)
    assert first["matches"] == len(Path(first["folder"], "matches.ndjson").read_text().splitlines()) > 10
    assert Path(first["folder"]) == Path(".local/runs", first["run"])
    both_days = lower.replace("--from …", "--from 2026-11-21T00:00:00Z").replace("--to …", "--to 2026-11-23T00:00:00Z")
    second = said_by(both_days, capsys)
    assert second["curve"][0]["threshold"] == 0.2
    assert second["matches"] > first["matches"]
    compare = two_runs.replace("r-5f0c…", first["run"]).replace("r-71aa…", second["run"])
    counts = said_by(compare, capsys)["counts"]
    assert counts == {"added": 0, "gone": second["matches"] - first["matches"], "changed": 0, "same": first["matches"]}
    asked = _parser().parse_args(shlex.split(on_cluster)[3:])
    assert (asked.master, asked.archive_path) == ("spark://10.0.0.4:7077", Path("/shared/archive"))


def test_other_tools_read_the_archive(folder: Path) -> None:
    session: dict[str, Any] = {}
    for block in blocks(PAGE, "python"):
        exec(block, session)
    assert len(session["detections"]) == 80
    [query] = blocks(PAGE, "sql")
    assert sorted(duckdb.execute(query).fetchall()) == [("acoustic", 80), ("seismic", 80)]
