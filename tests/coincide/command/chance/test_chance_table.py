"""coincide chance: the rates of the library, and what joining files of chance alone really gives."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from coincide import Histogram, Window, chance_rate
from coincide.command.main import main, request_of
from coincide.thresholds.chance import SensorRate
from tests.coincide.command.files import EPOCH_US, read, text, write

WINDOW, EXACT, LATE = Window(2), Histogram.point(), Histogram.uniform(-3, 0)
HOURS = 10


def test_given_rates_are_those_of_the_library(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    line = "--rate-a 0.1 --uncertainty-a point --rate-b 0.05 --uncertainty-b uniform:-3,0 --window 2"
    thresholds = ["--threshold", "0.3", "--threshold", "0.9"]
    assert main(["chance", *line.split(), *thresholds, "--out", str(out)]) == 0
    rows = read(out)
    assert [list(row) for row in rows] == [["threshold", "chance_rate_hz", "a_day"]] * 2
    for row in rows:
        rates = [SensorRate(None, EXACT, 0.1)], [SensorRate(None, LATE, 0.05)]
        expected = chance_rate(*rates, WINDOW, float(row["threshold"]))
        assert float(row["chance_rate_hz"]) == pytest.approx(expected)
        assert float(row["a_day"]) == pytest.approx(expected * 86_400)
    assert main(["chance", *line.split()[:4], "--window", "2", "--out", str(out)]) == 0
    assert float(read(out)[0]["chance_rate_hz"]) == pytest.approx(
        chance_rate([SensorRate(None, EXACT, 0.1)], None, WINDOW, 0.05)
    )


def poisson(path: Path, rng: np.random.Generator, rate_hz: float, sensor: str) -> Path:
    times = EPOCH_US + rng.integers(0, HOURS * 3600 * 10**6, rng.poisson(rate_hz * HOURS * 3600))
    areas = rng.choice(["bay", "hill"], len(times))
    return write(
        path, [{"detected_at_us": int(t), "sensor": sensor, "area": a} for t, a in zip(times, areas, strict=True)]
    )


@pytest.mark.parametrize("alone", [False, True])
def test_as_many_matches_come_of_chance_as_it_says(tmp_path: Path, alone: bool) -> None:
    rng = np.random.default_rng(7)
    files = [poisson(tmp_path / "a.csv", rng, 0.1, "a"), poisson(tmp_path / "b.csv", rng, 0.2, "b")][
        : 1 if alone else 2
    ]
    asked = [
        *map(str, files),
        "--window",
        "2",
        "--uncertainty",
        "uniform:-3,0",
        "--sensors",
        "any",
        "--threshold",
        "0.6",
    ]
    assert main(["chance", *asked, "--out", str(tmp_path / "chance.ndjson")]) == 0
    [row] = read(tmp_path / "chance.ndjson")
    assert main(["join", *asked, "--out", str(tmp_path / "pairs.ndjson")]) == 0
    count = len(read(tmp_path / "pairs.ndjson"))
    assert count > 100
    assert abs(count - row["in_the_files"]) < 4 * math.sqrt(row["in_the_files"])
    assert row["in_the_files"] == pytest.approx(row["chance_rate_hz"] * HOURS * 3600, rel=0.01)


def test_files_that_are_short_beside_the_windows_are_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "a.csv", [{"detected_at_us": EPOCH_US + n * 10**6} for n in range(3)])
    assert main(["chance", str(file), "--window", "1", "--uncertainty", "point"]) == 0
    captured = capsys.readouterr()
    assert "its rates say little" in captured.err
    assert len(captured.out.splitlines()) == 13  # the usual thresholds
    one = text(tmp_path / "one.csv", f"detected_at_us\n{EPOCH_US}\n")
    assert main(["chance", str(one), "--window", "1", "--uncertainty", "point"]) == 1
    assert "they say nothing about rates" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--window 1", "--rate-a and --uncertainty-a are needed"),
        ("--window 1 --rate-b 1 --uncertainty point", "left out, and --rate-b is given"),
        ("--window 1 --rate-a 1", "needed beside --rate-a"),
        ("--window 1 --rate-a -1", "events a second, at least 0"),
        ("--window 1 --rate-a inf", "events a second, at least 0"),
        ("--window 1: --rate-a 1 --uncertainty point", "chance matches have none"),
        ("--window 1 a.csv --rate-a 1 --uncertainty point", "the files say it"),
        ("--window 1 a.csv b.csv c.csv", "two at most"),
        ("--window 1 - -", "standard input can be read once"),
        ("a.csv", "required: --window"),
    ],
)
def test_what_does_not_fit_together_is_refused(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        request_of(["chance", *line.split()])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


PAUSED = "coincide: rates and chance are those of 120 min of 26 h: in 1 pause nobody reported for more than 20 times"


def test_a_pause_does_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An hour of recording, a pause of a day and another hour have the chance rate of two hours on end."""
    rng, hour_us = np.random.default_rng(35), 3_600_000_000
    streams = {name: np.append([0, 2 * hour_us - 1], rng.integers(0, 2 * hour_us, 900)) for name in "ab"}
    given = ("--window", "2", "--threshold", "0.5", "--uncertainty", "point")
    told = []
    for pause_us in (0, 24 * hour_us):
        files = [
            write(
                tmp_path / f"{name}-{pause_us}.csv",
                [{"detected_at_us": EPOCH_US + int(at) + (pause_us if at >= hour_us else 0)} for at in times],
            )
            for name, times in streams.items()
        ]
        asked = [*map(str, files), *given]
        assert main(["chance", *asked, "--out", str(tmp_path / "out.ndjson")]) == 0
        said = capsys.readouterr().err
        assert main(["join", *asked, "--out", str(tmp_path / "pairs.csv")]) == 0
        notes = capsys.readouterr().err
        query = tmp_path / "q.json"
        edge = {"between": ["x", "y"], "window_s": 2, "threshold": 0.5}
        roles = {"x": f"a-{pause_us}", "y": f"b-{pause_us}"}
        query.write_text(json.dumps({"id": "q", "from": roles, "within": [edge]}), encoding="utf-8")
        explained = ["explain", str(query), *map(str, files), "--uncertainty", "point"]
        assert main([*explained, "--out", str(tmp_path / "told.json")]) == 0
        of_query = capsys.readouterr().err
        for each in (said, notes, of_query):
            assert (PAUSED in each) == (pause_us > 0)
        about = float(notes.partition("about ")[2].partition(",")[0])
        chance = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))["chance"]["per_hour"]
        [row] = read(tmp_path / "out.ndjson")
        told.append((about, chance, row["chance_rate_hz"], row["a_day"], row["in_the_files"]))
    for without, within in zip(*told, strict=True):
        assert within == pytest.approx(without, rel=0.02)
    about, per_hour, _, _, in_the_files = told[0]
    assert in_the_files == pytest.approx(902**2 * 4 / 7200, rel=0.01)
    assert (about, per_hour) == pytest.approx((in_the_files, in_the_files / 2), rel=0.01)
