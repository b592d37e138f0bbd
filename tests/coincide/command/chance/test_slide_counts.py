"""coincide slides: what chance gives in files by shifting sensors, beside the formula and what the query finds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide.command.main import main, request_of
from tests.coincide.command.files import EPOCH_US, join, text, write
from tests.coincide.command.playback.test_replay import pair, saved
from tests.reference import central_italy

HOURS, SECOND, HOUR_US = 10, 10**6, 3_600 * 10**6


def streams(folder: Path, seed: int = 35) -> list[Path]:
    """Files p and s: 300 events that both report within 0.1 s, and as many reports of nothing; 2 sensors each."""
    rng, files = np.random.default_rng(seed), []
    events = rng.integers(0, HOURS * HOUR_US, 300)
    for name in "ps":
        nothing = rng.integers(0, HOURS * HOUR_US, 300)
        times = np.concatenate([[0, HOURS * HOUR_US], events + rng.integers(0, SECOND // 10, 300), nothing])
        rows = [
            {"detected_at_us": EPOCH_US + int(at), "sensor": f"{name}{nth % 2}", "area": "bay"}
            for nth, at in enumerate(times.tolist())
        ]
        files.append(write(folder / f"{name}.csv", rows))
    return files


def slid(*arguments: object, out: Path) -> dict[str, Any]:
    assert main(["slides", *map(str, arguments), "--uncertainty", "normal:0.2", "--out", str(out)]) == 0
    figures: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return figures


def test_slides_count_chance_beside_the_formula_and_what_the_query_finds(tmp_path: Path) -> None:
    files, [query] = streams(tmp_path), saved(tmp_path, {"id": "q", **pair(("p", "s"), 0.5)})
    figures = slid(*files, "--query", query, out=tmp_path / "out.json")
    answer = join(*files, "--query", query, "--uncertainty", "normal:0.2", out=tmp_path / "answer.csv")
    assert figures["matches_in_the_files"] == len(answer) > 290
    low, high = figures["interval_per_day"]
    assert low < figures["chance_per_day"] < high
    assert low < figures["formula_per_day"] * 1.01
    assert figures["formula_per_day"] < high * 1.01
    assert figures["chance_in_the_files"] == pytest.approx(figures["chance_per_day"] * HOURS / 24, rel=1e-4)
    assert sum(figures["counts"]) / len(figures["counts"]) == pytest.approx(figures["chance_in_the_files"], rel=1e-5)
    assert (len(figures["counts"]), figures["sensors"], figures["areas_left_out"]) == (100, [4], 0)


def test_the_same_files_give_the_same_answer_whatever_the_order_of_rows(tmp_path: Path) -> None:
    files, [query] = streams(tmp_path), saved(tmp_path, {"id": "q", **pair(("p", "s"), 0.5)})
    figures = slid(*files, "--query", query, "--slides", "5", out=tmp_path / "out.json")
    for file in files:
        head, *rows = file.read_text(encoding="utf-8").splitlines()
        text(file, "\n".join([head, *reversed(rows)]) + "\n")
    assert slid(*reversed(files), "--query", query, "--slides", "5", out=tmp_path / "again.json") == figures


def test_a_stream_that_meets_itself_and_two_of_three_are_slid_too(tmp_path: Path) -> None:
    files = streams(tmp_path)
    two_of_three = {
        "from": {"a": "p", "b": "p", "c": "s"},
        "form": "clique",
        "within": [{"window_s": 2, "threshold": 0.5}],
        "at_least": 2,
    }
    for asked in (pair(("p", "p"), 0.5), two_of_three):
        [query] = saved(tmp_path, {"id": "q", **asked})
        figures = slid(*files, "--query", query, "--slides", "20", out=tmp_path / "out.json")
        answer = join(*files, "--query", query, "--uncertainty", "normal:0.2", out=tmp_path / "answer.csv")
        assert figures["matches_in_the_files"] == len(answer)
        assert figures["chance_per_day"] == pytest.approx(figures["formula_per_day"], rel=0.2)


def test_it_is_told_in_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files, [query] = streams(tmp_path), saved(tmp_path, {"id": "q", **pair(("p", "s"), 0.5)})
    asked = ["slides", *map(str, files), "--query", str(query), "--uncertainty", "normal:0.2"]
    assert main(asked) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("Chance gives ")
    assert " matches a day by 100 time slides: " in told[0]
    assert told[1].startswith("The formula of coincide explain says ")
    assert told[2].startswith("In the 10 h recorded that is ")
    assert told[3].startswith("4 sensors were shifted against each other by at least ")
    assert not any("independent" in each for each in told)
    assert main([*asked, "--slides", "3", "--least-step", "8990"]) == 0
    assert "they are not independent, and the interval is rather too narrow" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "asked", "said"),
    [
        ([{"sensor": "a"}, {"sensor": ""}], pair(("p", "p"), 0.5), "p.csv: row 2 names no sensor, and others do"),
        ([{}, {}], pair(("p", "p"), 0.5), "sensor is None: who reported each row, where a stream meets itself"),
        ([{"sensor": "a"}, {"sensor": "b"}], pair(("p", "p"), 0.5), "recorded time is 1.0: at least "),
        ([{"sensor": "a"}] * 2, {**pair(("p", "p"), 0.5), "sensors": "any"}, "sensors is 'any': 'different' where a"),
    ],
)
def test_what_cannot_be_slid_is_told(
    tmp_path: Path, rows: list[Any], asked: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "p.csv", [{"detected_at_us": EPOCH_US + n * SECOND, **row} for n, row in enumerate(rows)])
    [query] = saved(tmp_path, {"id": "q", **asked})
    assert main(["slides", str(file), "--query", str(query), "--uncertainty", "point"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a.csv", "required: --query"),
        ("a.csv --query q.json --slides 0", "how many, 1 to 10000"),
        ("a.csv --query q.json --slides 1e3", "how many, 1 to 10000"),
        ("a.csv --query q.json --least-step -1", "seconds, from 0 to 1e+09"),
        ("--query q.json - -", "standard input can be read once"),
    ],
)
def test_what_does_not_fit_together_is_refused(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        request_of(["slides", *line.split()])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
def test_two_hours_of_a_real_morning_have_the_chance_of_the_formula(tmp_path: Path) -> None:
    """60 stations pick P waves; the busy hours follow each other, so that rates differ by hours, not by seconds."""
    forms = {name: {"edges_s": each.edges_s, "mass": each.mass} for name, each in central_italy.templates().items()}
    picks = [pick for hour in range(2) for pick in central_italy.picks(hour) if pick.phase == "P"]
    rows = [{"sensor": pick.station, "template": "P", "detected_at": pick.detected_at_us} for pick in picks]
    file, named = write(tmp_path / "P.csv", rows), text(tmp_path / "templates", json.dumps(forms))
    edge = {"between": ["a", "b"], "window_s": 0.15, "threshold": 0.5}
    [query] = saved(tmp_path, {"id": "moment", "from": {"a": "P", "b": "P"}, "within": [edge]})
    asked = (file, "--query", query, "--templates", named, "--slides", "30", "--least-step", "10")
    assert main(["slides", *map(str, asked), "--out", str(tmp_path / "out.json")]) == 0
    figures = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert figures["chance_per_day"] == pytest.approx(figures["formula_per_day"], rel=0.05)
    assert figures["matches_in_the_files"] > 3 * figures["chance_in_the_files"]
