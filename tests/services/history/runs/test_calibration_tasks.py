"""What tasks of a calibration do, without Spark: the same as the library, however the rows come together."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.random import Generator

from coincide import Histogram, Window
from coincide.clocks import Clock
from coincide.learning import Calibration, Learning, SensorStream, calibrate, errors_against
from services.common.settings import SettingsError
from services.history.runs.calibration_tasks import ByConsensus, ByPool, ByReference, calibration_in
from services.ingest.publishing.frame import heartbeat
from spark_jobs.calibrating.sources import DETECTION_SCHEMA, by_area, detections_in, present_sensors
from tests.services.ingest.building import NOW_US, Ingest, detection

WITHIN = Window(20)
EVERY_US = 60_000_000


@pytest.fixture
def rng() -> Generator:
    return np.random.default_rng(1987)


def rows_of(sensor: str, at_us: Any, area: str = "bay", stream: str = "noise", model: str | None = None) -> pa.Table:
    rows = [
        {"area": area, "sensor": sensor, "stream": stream, "model": model, "detected_at_us": at}
        for at in np.asarray(at_us).tolist()
    ]
    return pa.Table.from_pylist(rows, DETECTION_SCHEMA)


def reports(rng: Generator, events: int, late_s: float, sigma_s: float = 0.1) -> Any:
    return np.arange(events) * EVERY_US + np.rint(rng.normal(late_s, sigma_s, events) * 1e6).astype(np.int64)


def calibrations_in(table: pa.Table) -> list[Calibration]:
    return [calibration_in(each) for each in table["calibration"].to_pylist() if each is not None]


def test_a_task_learns_what_the_library_does_also_from_rows_that_came_twice(rng: Generator) -> None:
    at_us, known_us = reports(rng, 200, 2.0), np.arange(200) * EVERY_US
    rows = rows_of("mic", rng.permutation(np.concatenate((at_us, at_us[:50]))))
    learnt = ByReference({"bay": known_us, "town": known_us + 1}, Learning(WITHIN))(rows)
    [calibration] = calibrations_in(learnt)
    errors = errors_against(at_us, known_us, WITHIN)
    [expected] = calibrate({SensorStream("mic", "noise"): errors}, Learning(WITHIN))
    assert calibration.learnt == expected.learnt
    assert learnt["error_s"].to_pylist() == [errors.error_s.tolist()]


def test_known_times_of_every_area_count_in_each() -> None:
    times = by_area(["bay", "", "town"], np.array([3, 2, 1]))
    assert {name: at.tolist() for name, at in times.items()} == {"": [2], "bay": [2, 3], "town": [1, 2]}


def test_those_with_few_errors_are_learnt_from_their_stream(rng: Generator) -> None:
    known_us = np.arange(200) * EVERY_US
    task = ByReference({"": known_us}, Learning(WITHIN))
    tables = [
        task(rows_of("rich", reports(rng, 200, 2.0))),
        task(rows_of("poor", reports(rng, 20, 2.0))),
        task(rows_of("kin-1", reports(rng, 25, 5.0), model="buoy")),
        task(rows_of("kin-2", reports(rng, 25, 5.0), model="buoy")),
    ]
    assert [len(calibrations_in(table)) for table in tables] == [1, 0, 0, 0]
    pooled = {each.of.sensor: each for each in calibrations_in(ByPool(Learning(WITHIN))(pa.concat_tables(tables)))}
    assert {name: each.pool for name, each in pooled.items()} == {"poor": "stream", "kin-1": "model", "kin-2": "model"}
    kin = pooled["kin-1"].learnt
    assert kin is not None
    assert kin.template.mean_s == pytest.approx(-5, abs=0.1)


def test_models_that_the_rows_do_not_name_are_those_declared(rng: Generator) -> None:
    task = ByReference({"": np.arange(200) * EVERY_US}, Learning(WITHIN))
    others = {"kin-1": (25, 5.0), "kin-2": (25, 5.0), "rich": (200, 2.0)}
    tables = [task(rows_of(name, reports(rng, *of))) for name, of in others.items()]
    declared = Learning(WITHIN, models={"kin-1": "buoy", "kin-2": "buoy"})
    pooled = calibrations_in(ByPool(declared)(pa.concat_tables(tables)))
    assert [(each.of.sensor, each.pool) for each in pooled] == [("kin-1", "model"), ("kin-2", "model")]


def test_an_area_agrees_and_a_sensor_without_a_template_is_left_out(rng: Generator) -> None:
    present = {SensorStream(name, "noise"): Histogram.normal(0.1) for name in "abc"}
    present[SensorStream("slow", "noise")] = Histogram.uniform(-8, 0)
    tables = [rows_of(name, reports(rng, 300, 0.0)) for name in "abc"]
    tables += [rows_of("slow", reports(rng, 300, 4.0, 0.4)), rows_of("stranger", reports(rng, 300, 0.0))]
    learnt = ByConsensus(Learning(WITHIN, present=present))(pa.concat_tables(tables))
    assert learnt["sensor"].to_pylist() == ["a", "b", "c", "slow"]
    [slow] = [each.learnt for each in calibrations_in(learnt) if each.of.sensor == "slow"]
    assert slow is not None
    assert slow.template.mean_s == pytest.approx(-4, abs=0.1)


def test_frames_become_detections_and_what_is_none_is_left_out() -> None:
    ingest = Ingest()
    ingest.post_items(detection(), detection(sensor="both", stream="acoustic"), detection(sensor="imb"))
    frames = [frame.value for frame in ingest.publisher.frames]
    values = [
        *frames,
        heartbeat(NOW_US),
        b"{",
        b'{"more": ' + b"[" * 20_000,
        None,
        json.dumps({**json.loads(frames[0]), "v": 1}).encode(),
    ]
    batch = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})
    [rows] = detections_in(iter([batch]))
    found = [(row["area"], row["sensor"], row["stream"], row["detected_at_us"]) for row in rows.to_pylist()]
    at = NOW_US - 1_000_000
    expected = [("bay", "both", "acoustic", at), ("bay", "geo", "seismic", at), ("sn1987a", "imb", "neutrino", at)]
    assert sorted(found) == expected


def test_present_templates_and_models_are_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sensors.yaml"
    sensors = "[{id: mic, area: bay, streams: {noise: a}}, {id: geo, area: bay, model: GS-1, streams: {tremor: a}}]"
    path.write_text(f"templates: {{a: {{point: true}}}}\nsensors: {sensors}\n")
    templates, models = present_sensors(path)
    assert templates == dict.fromkeys([SensorStream("mic", "noise"), SensorStream("geo", "tremor")], Histogram.point())
    assert models == {"geo": "GS-1"}
    path.write_text(
        "clocks: {gw: {error: {uniform: [-9, 9]}}}\ntemplates: {a: {point: true}}\n"
        "sensors: [{id: mic, area: bay, clock: gw, streams: {noise: {own: a}}}]\n"
    )
    [template] = present_sensors(path).templates.values()
    assert template == Clock("gw", Histogram.uniform(-9, 9)).template(Histogram.point())
    for wrong in ("templates: {a: {sigma: 1}}\nsensors: []\n", "[]", "templates: {}\nsensors: [{id: a}]\n"):
        path.write_text(wrong)
        with pytest.raises(SettingsError, match=r"sensors\.yaml"):
            present_sensors(path)
