"""--echo: reports that a sensor makes again count once, in every command that joins, counts or learns."""

import json
from pathlib import Path

import numpy as np
import pytest

from coincide.command.main import main, request_of
from tests.coincide.command.files import EPOCH_US, join, read, write
from tests.coincide.command.playback.test_replay import pair, saved

TOLD = "coincide: {} reports are echoes, at most 0.5 s after another one of its sensor: the earliest counts"
CLIQUE = {"from": dict(zip("xyz", "abc", strict=True)), "form": "clique", "within": [{"window_s": 2, "threshold": 0.5}]}


def bangs(folder: Path, names: str = "abc", count: int = 60) -> list[Path]:
    """Each bang is reported twice by every sensor, 0.2 to 0.4 s apart; a file for each, in no order."""
    rng, files = np.random.default_rng(35), []
    for name in names:
        at_us = EPOCH_US + np.arange(count) * 60_000_000 + rng.normal(0, 100_000, count).astype(np.int64)
        times = rng.permutation(np.concatenate([at_us, at_us + rng.integers(200_000, 400_000, count)]))
        rows = [{"detected_at_us": int(each), "sensor": name, "stream": name, "area": "bay"} for each in times]
        files.append(write(folder / f"{name}.csv", rows))
    return files


def test_a_join_of_a_query_counts_each_bang_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, [query] = bangs(tmp_path), saved(tmp_path, {"id": "q", **CLIQUE})
    asked = (*files, "--query", query, "--uncertainty", "normal:0.3")
    assert len(join(*asked, out=tmp_path / "all.csv")) == 8 * 60
    assert "echo" not in capsys.readouterr().err
    assert len(join(*asked, "--echo", "0.5", out=tmp_path / "once.csv")) == 60
    assert TOLD.format(180) in capsys.readouterr().err


def test_two_files_and_any_number_of_files_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, _ = bangs(tmp_path)
    asked = (a, b, "--window", "2", "--threshold", "0.5", "--uncertainty", "normal:0.3", "--echo", "0.5")
    assert len(join(*asked, out=tmp_path / "pairs.csv")) == 60
    assert capsys.readouterr().err.count(TOLD.format(60)) == 2
    assert main(["window-join", *map(str, asked), "--out", str(tmp_path / "tuples.csv")]) == 0
    assert len(read(tmp_path / "tuples.csv")) == 60
    assert TOLD.format(120) in capsys.readouterr().err


def test_chance_is_that_of_reports_that_are_no_echoes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, _ = bangs(tmp_path)
    [query] = saved(tmp_path, {"id": "q", **pair(("a", "b"), 0.5)})
    chances = []
    for echo in ((), ("--echo", "0.5")):
        for command, of in (("chance", ("--window", "2", "--threshold", "0.5")), ("explain", ())):
            files = (query, a, b) if command == "explain" else (a, b)
            out = tmp_path / ("out.json" if command == "explain" else "out.ndjson")
            line = [command, *map(str, files), *of, "--uncertainty", "normal:0.3", *echo]
            assert main([*line, "--out", str(out)]) == 0
            if command == "explain":
                chances.append(json.loads(out.read_text(encoding="utf-8"))["chance"]["per_hour"])
            else:
                chances.append(read(out)[0]["a_day"])
    assert chances[2] == pytest.approx(chances[0] / 4, rel=0.01)
    assert chances[3] == pytest.approx(chances[1] / 4, rel=0.01)
    assert "are echoes" in capsys.readouterr().err


def test_a_consensus_learns_from_sensors_that_report_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = bangs(tmp_path, "abcdefgh", 150)
    line = ["learn", *map(str, files), "--consensus", "--uncertainty", "normal:0.1", "--within", "2"]
    assert main([*line, "--out", str(tmp_path / "none.yaml")]) == 1
    assert main([*line, "--echo", "0.5", "--out", str(tmp_path / "learnt.yaml")]) == 0
    told = capsys.readouterr().err
    assert "there are too few errors for any template" in told
    assert TOLD.format("1,200") in told
    assert (tmp_path / "learnt.yaml").read_text(encoding="utf-8").count("edges_s") == 8


@pytest.mark.parametrize("echo", ["-1", "nan", "2e9", "x"])
def test_a_time_that_is_none_is_refused(echo: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        request_of(["join", "a.csv", "--window", "1", "--threshold", "1", "--echo", echo])
    assert "seconds, from 0 to 1e+09" in capsys.readouterr().err
