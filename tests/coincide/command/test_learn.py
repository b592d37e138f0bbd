"""``coincide learn`` on small logs: its YAML goes into ingest's registry as it is."""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.random import Generator

from coincide import Histogram, Stream, goodness_of_fit
from coincide.command.main import main
from services.ingest.registry.sensors_file import load_sensors
from tests.coincide.command.files import EPOCH_US, text, write

EVERY_US = 100_000_000
STREAMS = {name: Stream(name, 60.0, 600.0) for name in ("noise", "light", "clock")}


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(1987)


def log_rows(
    rng: Generator, sensor: str, events: int, late_s: float, sigma_s: float = 0.1, **labels: str
) -> list[dict[str, Any]]:
    """Return reports of events every 100 s; a tenth of the events is missed, and as many reports are of nothing."""
    true_us = EPOCH_US + np.arange(events) * EVERY_US
    reported_us = true_us + np.rint(rng.normal(late_s, sigma_s, events) * 1e6).astype(np.int64)
    heard = reported_us[rng.random(events) < 0.9].tolist()
    noise = rng.integers(EPOCH_US, EPOCH_US + events * EVERY_US, events // 10).tolist()
    return [{"detected_at_us": at, "sensor": sensor, **labels} for at in [*heard, *noise]]


def known(events: int) -> list[dict[str, Any]]:
    return [{"detected_at": EPOCH_US + n * EVERY_US, "place": "pier"} for n in range(events)]


def learn(*arguments: object) -> int:
    return main(["learn", *map(str, arguments)])


@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_learnt_from_known_times(tmp_path: Path, rng: Generator, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = log_rows(rng, "mic-1", 400, 2.0, area="bay", stream="noise")
    rows += log_rows(rng, "mic-2", 400, 5.0, area="bay", stream="noise")
    log, truth = write(tmp_path / f"log.{form}", rows), write(tmp_path / f"truth.{form}", known(400))
    out, picture = tmp_path / "learnt.yaml", tmp_path / "learnt.svg"
    assert learn(log, "--reference", truth, "--within", "30", "--out", out, "--picture", picture) == 0
    sensors = load_sensors(out, STREAMS)
    assert {name: sensor.area for name, sensor in sensors.items()} == {"mic-1": "bay", "mic-2": "bay"}
    later_s = rng.normal(0, 0.1, 10_000)
    for name, late_s in (("mic-1", 2.0), ("mic-2", 5.0)):
        assert goodness_of_fit(sensors[name].streams["noise"], later_s - late_s).distance < 0.08
    table = capsys.readouterr().err.splitlines()
    assert table[0].split()[:3] == ["sensor", "stream", "errors"]
    assert [line.split()[0] for line in table[1:]] == ["mic-1", "mic-2"]
    panels = ElementTree.parse(picture).getroot().findall("{http://www.w3.org/2000/svg}g")
    assert len(panels) == 2


def test_bars_on_a_terminal(tmp_path: Path, rng: Generator, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log.csv", log_rows(rng, "mic-1", 100, 2.0, area="bay", stream="noise"))
    truth = write(tmp_path / "truth.csv", known(100))
    with patch.object(sys.stderr, "isatty", lambda: True):
        assert learn(log, "--reference", truth, "--within", 20, "--out", tmp_path / "learnt.yaml") == 0
    said = capsys.readouterr()
    assert said.out == ""
    for words in ("reading log.csv", "reading truth.csv", "learning", "100%"):
        assert words in said.err


def test_a_log_in_several_files_is_one_log(tmp_path: Path, rng: Generator) -> None:
    noise = log_rows(rng, "mic-1", 300, 2.0, area="bay")
    light = log_rows(rng, "eye-1", 300, 1.0, area="bay")
    truth = write(tmp_path / "truth.csv", known(300))
    apart = [write(tmp_path / "noise.csv", noise), write(tmp_path / "light.csv", light)]
    rows = [{**row, "stream": name} for name, some in (("noise", noise), ("light", light)) for row in some]
    together, outs = write(tmp_path / "all.csv", rows), [tmp_path / "apart.yaml", tmp_path / "together.yaml"]
    for logs, out in zip((apart, [together]), outs, strict=True):
        assert learn(*logs, "--reference", truth, "--within", "30", "--out", out) == 0
    assert outs[0].read_text() == outs[1].read_text()
    assert [*load_sensors(outs[0], STREAMS)] == ["eye-1", "mic-1"]


def test_learnt_from_a_stream_that_can_be_trusted(tmp_path: Path, rng: Generator) -> None:
    rows = log_rows(rng, "mic-1", 300, 2.0, stream="noise")
    rows += [{"detected_at_us": row["detected_at"], "sensor": "gps", "stream": "clock"} for row in known(300)]
    out = tmp_path / "learnt.yaml"
    log = write(tmp_path / "log.csv", rows)
    assert learn(log, "--reference-stream", "clock", "--area", "bay", "--within", "-30:5", "--out", out) == 0
    [mic] = load_sensors(out, STREAMS).values()
    assert [*mic.streams] == ["noise"]
    assert mic.streams["noise"].mean_s == pytest.approx(-2, abs=0.05)


def test_learnt_from_what_the_others_say(tmp_path: Path, rng: Generator) -> None:
    rows: list[dict[str, Any]] = []
    for name, late_s, sigma_s in (("a", 0.0, 0.1), ("b", 0.0, 0.1), ("c", 0.0, 0.1), ("slow", 4.0, 0.4)):
        rows += log_rows(rng, name, 400, late_s, sigma_s, stream="noise", area="bay")
    log, out = write(tmp_path / "log.csv", rows), tmp_path / "learnt.yaml"
    templates = text(
        tmp_path / "now.json",
        '{"a": {"normal": {"sigma_s": 0.1}}, "b": {"normal": {"sigma_s": 0.1}}, '
        '"c": {"normal": {"sigma_s": 0.1}}, "slow": {"uniform": [-10, 0]}}',
    )
    assert learn(log, "--consensus", "--templates", templates, "--within", "20", "--out", out) == 0
    sensors = load_sensors(out, STREAMS)
    slow = sensors["slow"].streams["noise"]
    assert slow.mean_s == pytest.approx(-4, abs=0.05)
    assert slow.std_s == pytest.approx(0.4, rel=0.15)


def test_only_references_of_the_same_area_count(tmp_path: Path, rng: Generator) -> None:
    rows = [*log_rows(rng, "mic", 100, 2.0, area="bay", stream="noise")]
    elsewhere = [{"detected_at_us": EPOCH_US + n * EVERY_US, "area": "town"} for n in range(100)]
    log, truth = write(tmp_path / "log.csv", rows), write(tmp_path / "truth.csv", elsewhere)
    assert learn(log, "--reference", truth, "--out", tmp_path / "learnt.yaml") == 1
    assert not (tmp_path / "learnt.yaml").exists()


def test_the_present_template_is_compared(tmp_path: Path, rng: Generator, capsys: pytest.CaptureFixture[str]) -> None:
    log = write(tmp_path / "log.csv", log_rows(rng, "mic", 300, 2.0, area="bay", stream="noise"))
    truth = write(tmp_path / "truth.csv", known(300))
    out = tmp_path / "learnt.yaml"
    assert learn(log, "--reference", truth, "--within", "30", "--uncertainty", "uniform:-10,0", "--out", out) == 0
    head, row = capsys.readouterr().err.splitlines()
    assert head.split()[-2:] == ["score", "present"]
    score, present = map(float, row.split()[-2:])
    assert score - present > 2  # ten seconds against some tenths of one
    assert present == pytest.approx(math.log(0.1), abs=0.2)


def test_few_errors_are_pooled_and_said(tmp_path: Path, rng: Generator, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        row
        for nth in range(4)
        for row in log_rows(rng, f"buoy-{nth}", 20, 2.0, area="bay", stream="noise", model="buoy")
    ]
    log, truth = write(tmp_path / "log.csv", rows), write(tmp_path / "truth.csv", known(20))
    out = tmp_path / "learnt.yaml"
    assert learn(log, "--reference", truth, "--within", "30", "--out", out) == 0
    assert out.read_text().count("of all sensors of its model") == 4
    assert capsys.readouterr().err.count("its model") == 4
    templates = {sensor.streams["noise"] for sensor in load_sensors(out, STREAMS).values()}
    assert len(templates) == 1


def test_names_of_any_kind_stand_in_the_yaml(tmp_path: Path, rng: Generator) -> None:
    names = ['- "odd": #1', "höhe 😀", "yes", "12"]
    rows = [row for name in names for row in log_rows(rng, name, 100, 1.0, area="no: yes", stream="noise")]
    log, truth = write(tmp_path / "log.ndjson", rows), write(tmp_path / "truth.csv", known(100))
    out = tmp_path / "learnt.yaml"
    assert learn(log, "--reference", truth, "--within", "30", "--out", out) == 0
    sensors = load_sensors(out, STREAMS)
    assert {*sensors} == {*names}
    assert {sensor.area for sensor in sensors.values()} == {"no: yes"}


WRONG: Sequence[tuple[dict[str, str], list[str], str]] = [
    ({"sensor": "", "area": "bay"}, [], "names no sensor"),
    ({"sensor": "mic", "area": ""}, [], "--area"),
    ({"sensor": "mic", "area": "bay"}, ["--reference-stream", "clock"], "the log has"),
]


@pytest.mark.parametrize(("labels", "options", "why"), WRONG)
def test_a_log_that_cannot_be_used_is_refused(
    tmp_path: Path, labels: dict[str, str], options: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write(tmp_path / "log.csv", [{"detected_at_us": EPOCH_US, **labels}])
    truth = write(tmp_path / "truth.csv", known(3))
    assert learn(log, *(options or ["--reference", str(truth)]), "--out", tmp_path / "learnt.yaml") == 1
    assert why in capsys.readouterr().err
    assert not (tmp_path / "learnt.yaml").exists()


def test_a_sensor_in_two_areas_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    streams = zip("ab", ("noise", "light"), strict=True)
    rows = [{"detected_at_us": EPOCH_US, "sensor": "mic", "area": area, "stream": name} for area, name in streams]
    log, truth = write(tmp_path / "log.csv", rows), write(tmp_path / "truth.csv", known(3))
    assert learn(log, "--reference", truth) == 1
    assert "in areas 'a' and 'b'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["log.csv"], "one of the arguments --reference --reference-stream --consensus is required"),
        (["log.csv", "--consensus"], "needs the present templates"),
        (["log.csv", "--reference", "a.csv", "--within", "0"], "longer than 0 s"),
        (["log.csv", "--reference", "a.csv", "--within", "x"], "seconds, such as"),
        (["log.csv", "--reference", "a.csv", "--buckets", "65"], "from 1 to 64"),
        (["log.csv", "--reference", "a.csv", "--out", "a.csv"], "should end in .yaml"),
        (["log.csv", "--reference", "a.csv", "--picture", "a.png"], "should end in .svg"),
        (["log.csv", "--consensus", "--reference-time", "at", "--uncertainty", "point"], "of --reference"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        learn(*arguments)
    assert exit_.value.code == 2
    assert why in capsys.readouterr().err


def test_templates_keep_their_shape_in_the_yaml(tmp_path: Path, rng: Generator) -> None:
    exact = [
        {"detected_at_us": EPOCH_US + n * EVERY_US + (0 if n % 2 else int(rng.integers(0, 10**6))), "sensor": "s"}
        for n in range(200)
    ]
    log, truth = write(tmp_path / "noise.csv", exact), write(tmp_path / "truth.csv", known(200))
    out = tmp_path / "learnt.yaml"
    assert learn(log, "--reference", truth, "--within", "10", "--area", "bay", "--out", out) == 0
    template = load_sensors(out, STREAMS)["s"].streams["noise"]
    assert template.mass[np.diff(template.edges_s) == 0].tolist() == pytest.approx([0.5], abs=0.02)
    assert isinstance(template, Histogram)


def test_times_count_what_time_unit_says_in_the_log_and_in_the_known_times(tmp_path: Path, rng: Generator) -> None:
    rows = log_rows(rng, "mic-1", 400, 2.0, area="bay", stream="noise")
    in_seconds = [{**row, "detected_at_us": row["detected_at_us"] / 1e6} for row in rows]
    whole = [{**row, "detected_at": row["detected_at"] // 1_000_000} for row in known(400)]
    outs = [tmp_path / name for name in ("us.yaml", "s.yaml")]
    for out, log, truth, unit in (
        (outs[0], rows, known(400), "us"),
        (outs[1], in_seconds, whole, "s"),
    ):
        files = write(tmp_path / f"log-{unit}.ndjson", log), write(tmp_path / f"truth-{unit}.csv", truth)
        assert learn(files[0], "--reference", files[1], "--within", "30", "--time-unit", unit, "--out", out) == 0
    learnt = [load_sensors(out, STREAMS)["mic-1"].streams["noise"] for out in outs]
    assert learnt[0].id == learnt[1].id
