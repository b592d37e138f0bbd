"""``coincide export``: matches become GeoJSON or QuakeML, one by one."""

import json
from pathlib import Path

import pytest

from coincide.command.main import FAILED, main
from tests.coincide.catalogue.test_catalogues import QUAKE


def written(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_places_are_written_and_others_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unplaced = json.dumps({**QUAKE, "place": None})
    matches = written(tmp_path / "m.ndjson", json.dumps(QUAKE), "", unplaced)
    assert main(["export", matches, "--to", "geojson", "--out", str(tmp_path / "m.geojson")]) == 0
    features = json.loads((tmp_path / "m.geojson").read_text(encoding="utf-8"))["features"]
    assert [feature["id"] for feature in features] == ["m-1", "m-1-region"]
    assert "1 of 2 matches have no place" in capsys.readouterr().err
    assert main(["export", matches, "--to", "quakeml"]) == 0
    assert capsys.readouterr().out.count("<event ") == 1


def test_a_line_that_is_no_match_ends_it_or_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matches = written(tmp_path / "m.ndjson", json.dumps(QUAKE), "[1]", json.dumps(QUAKE))
    out = tmp_path / "m.xml"
    assert main(["export", matches, "--to", "quakeml", "--out", str(out)]) == FAILED
    assert "line 2: is no match" in capsys.readouterr().err
    assert not out.exists()
    assert main(["export", matches, "--to", "quakeml", "--out", str(out), "--skip-bad"]) == 0
    assert out.read_text(encoding="utf-8").count("<event ") == 2
