"""Late detections of a replay: the sensor whose clock is ahead is named, and nobody else."""

from pathlib import Path
from typing import Any

import pytest

from tests.coincide.command.files import EPOCH_US, FORMATS, write
from tests.coincide.command.playback.test_replay import pair, replay, saved

DAY_S = 86_400


def heard(minute: float, sensor: str, ahead_s: float = 0, **more: Any) -> dict[str, Any]:
    return {"sensor": sensor, "detected_at_us": EPOCH_US + round((minute * 60 + ahead_s) * 1e6), **more}


def told(folder: Path, rows: list[dict[str, Any]], form: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    file = write(folder / f"p.{form}", rows)
    replay(saved(folder, {"id": "q", **pair(("p", "p"))}), file, "--uncertainty", "point", out=folder / "out.ndjson")
    return [line.replace(f"{folder}/", "") for line in capsys.readouterr().err.splitlines()]


@pytest.mark.parametrize("form", FORMATS)
def test_one_clock_a_month_ahead_is_named(tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [heard(n + side / 100, f"m{side}") for n in range(6) for side in (0, 1)]
    rows[4] = heard(2, "m0", 30 * DAY_S)
    assert told(tmp_path, rows, form, capsys) == [
        "coincide: 7 detections came too late and left out: more than 120 s (--max-delay) behind their area",
        f"coincide: 7 of them are behind sensor m0 (p.{form} row 5), which says 1987-03-25T07:37:35.000000Z and came "
        "30 days beyond all before it: is its clock ahead?",
    ]


def test_the_first_of_an_area_may_be_the_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [*(heard(n, "m1", area="bay") for n in range(3)), heard(0, "m2", area="hill")]
    rows = [heard(0, "m0", DAY_S, area="bay"), *others]
    _, named = told(tmp_path, rows, "csv", capsys)
    assert "3 of them are behind sensor m0 (p.csv row 1)" in named
    assert named.endswith("and came before all others: is its clock ahead?")


def test_one_that_is_merely_late_accuses_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*(heard(n, "m0") for n in range(10)), heard(1, "m1")]
    assert told(tmp_path, rows, "csv", capsys) == [
        "coincide: 1 detection came too late and left out: more than 120 s (--max-delay) behind their area"
    ]


def test_times_of_reception_keep_it_from_making_others_late(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [heard(n, "m0", 30 * DAY_S * (n == 2), received_at_us=EPOCH_US + n * 60 * 10**6) for n in range(6)]
    assert told(tmp_path, rows, "csv", capsys) == []


def test_a_clock_that_stays_ahead_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [heard(n, name, 3 * DAY_S * (name == "m1" and n > 1)) for n in range(6) for name in ("m0", "m1")]
    _, named = told(tmp_path, rows, "csv", capsys)
    assert "3 of them are behind sensor m1 (p.csv row 6), which says 1987-02-26T07:37:35" in named


def test_a_pause_of_all_accuses_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (
        [heard(n, "m0") for n in (0, 1, 60)] + [heard(60, f"m{n}") for n in (1, 2)] + [heard(2, "m3"), heard(3, "m4")]
    )
    assert len(told(tmp_path, rows, "csv", capsys)) == 1


def test_a_sensor_that_reports_often_is_not_ahead_of_one_that_sends_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [heard(n, "m0") for n in range(30)] + [heard(n, "m1") for n in range(5)]
    assert len(told(tmp_path, rows, "csv", capsys)) == 1
