"""--templates: a learnt file of sensors serves explain, join and replay as it is, and faults in it are told."""

import json
from pathlib import Path

import pytest

from coincide import Histogram, Window, match_probability
from coincide.clocks import Clock
from coincide.command.arguments.template_arguments import load_templates
from coincide.command.faults import CommandError
from coincide.command.main import main
from tests.coincide.command.files import EPOCH_US, read, text, write

SENSORS = """\
templates:
  "mic on noise": {uniform: [-2, 0]}
  "mic on light": {uniform: [-0.2, 0]}
  exact: {uniform: [-0.1, 0.1]}
sensors:
  - {id: mic, area: pier, streams: {noise: mic on noise, light: mic on light}}
  - {id: door, area: pier, streams: {contact: exact}}
"""
SLAM = {"from": {"d": "contact", "n": "noise"}, "within": [{"between": ["d", "n"], "window_s": 0.5, "threshold": 0.2}]}


@pytest.fixture
def sensors(tmp_path: Path) -> Path:
    return text(tmp_path / "sensors.yaml", SENSORS)


@pytest.fixture
def slam(tmp_path: Path) -> Path:
    return text(tmp_path / "slam.json", json.dumps(SLAM))


def test_a_sensor_has_on_each_stream_the_template_that_the_file_says(tmp_path: Path, sensors: Path, slam: Path) -> None:
    rows = [
        {"detected_at": EPOCH_US, "sensor": "door", "stream": "contact", "area": "pier"},
        {"detected_at": EPOCH_US + 1_000_000, "sensor": "mic", "stream": "noise", "area": "pier"},
    ]
    log, out = write(tmp_path / "log.csv", rows), tmp_path / "pairs.csv"
    assert main(["join", "--query", *map(str, (slam, log, "--templates", sensors, "--out", out))]) == 0
    [pair] = read(out)
    expected = match_probability(Histogram.uniform(-0.1, 0.1), Histogram.uniform(-2, 0), 1.0, Window(0.5))
    assert float(pair["probability"]) == pytest.approx(expected, abs=1e-6)


GATEWAY = """\
clocks: {gw-7: {error: {uniform: [-30, 30]}}}
templates: {cable: {uniform: [-0.05, 0.05]}}
sensors: [{id: mic, area: pier, clock: gw-7, streams: {noise: {own: cable}}}]
"""


def test_sensors_of_the_file_may_be_on_clocks(tmp_path: Path) -> None:
    templates = load_templates(text(tmp_path / "sensors.yaml", GATEWAY))
    on_clock = Clock("gw-7", Histogram.uniform(-30, 30)).template(Histogram.uniform(-0.05, 0.05))
    assert templates.by_name[templates.name_for("mic", "noise") or ""] == on_clock
    for old, new, says in (
        ("{own: cable}", "cable", "own is empty: what is left of the error once the clock is right: a template alone"),
        ("clock: gw-7", "clock: gw-8", "names clock"),
        ("own: cable", "own: radio", "names template"),
        ("{error: {uniform: [-30, 30]}}", "{}", "an object that has the clock's error"),
        ("clock: gw-7, ", "", "own is said beside a clock, and the sensor has none"),
    ):
        with pytest.raises(CommandError) as caught:
            load_templates(text(tmp_path / "sensors.yaml", GATEWAY.replace(old, new)))
        assert says in str(caught.value)


def test_a_file_without_streams_is_of_the_stream_of_its_name(tmp_path: Path, sensors: Path) -> None:
    contact = write(tmp_path / "contact.csv", [{"detected_at": EPOCH_US, "sensor": "door"}])
    light = write(tmp_path / "light.csv", [{"detected_at": EPOCH_US, "sensor": "mic"}])
    out = tmp_path / "pairs.csv"
    words = ("join", contact, light, "--window", 0.1, "--threshold", 0.1, "--templates", sensors, "--out", out)
    assert main([*map(str, words)]) == 0
    expected = match_probability(Histogram.uniform(-0.1, 0.1), Histogram.uniform(-0.2, 0), 0.0, Window(0.1))
    assert float(read(out)[0]["probability"]) == pytest.approx(expected, abs=1e-6)


def test_explain_knows_the_declared_sensors(tmp_path: Path, sensors: Path, slam: Path) -> None:
    out = tmp_path / "out.json"
    assert main(["explain", *map(str, (slam, "--templates", sensors, "--out", out))]) == 0
    assert [role["sensors"] for role in json.loads(out.read_text())["roles"]] == [1, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- 1", "an object of templates by name was expected"),
        ("a: [1, 2", "no YAML"),
        ("templates: 3\nsensors: []", "templates is 3: templates by name were expected"),
        ("templates: {}\nsensors: 3", "sensors is 3: a list of sensors was expected"),
        ("templates: {}\nsensors: [{id: a}]", "{id: NAME, area: AREA, streams: {STREAM: TEMPLATE}} was expected"),
        ("templates: {}\nsensors: [{id: a, streams: {s: t}}]", "sensor 'a' names template 't', which is not there"),
        ("templates: {t: {uniform: [1, 0]}}\nsensors: []", "template 't'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(CommandError) as refused:
        load_templates(text(tmp_path / "sensors.yaml", content))
    assert message in str(refused.value)
