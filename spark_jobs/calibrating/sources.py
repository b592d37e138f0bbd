"""Where detections come from: files, the archive, or the topic; and known times from a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Struct, json
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from coincide.arrays.kinds import Int64Array
from coincide.clocks import Clock
from coincide.clocks.template_forms import clocks_of_forms, template_beside, template_of_form
from coincide.errors import HistogramError
from coincide.learning import SensorStream
from coincide.templates.histogram import Histogram
from coincide.wire.fields import UNREADABLE
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.java_options import spark_options
from services.common.settings import SettingsError, read_yaml
from services.history.archiving.folders import Archive
from services.history.archiving.layout import is_archive
from services.history.runs.calibration_tasks import DETECTION

LABELS = ("area", "sensor", "stream", "model")
TIMES = ("detected_at_us", "detected_at")
DETECTION_SCHEMA = pa.schema([*((name, pa.string()) for name in LABELS), ("detected_at_us", pa.int64())])


def of_files(spark: SparkSession, path: str, stream: str | None, area: str | None) -> DataFrame:
    """Return the detections of an archive, a folder or a file, Parquet or NDJSON by its name.

    Rows without a sensor are left out.

    `stream` and `area` are those of rows that name none.
    """
    frame = _read(spark, path)
    time = _time_of(frame, path)
    otherwise: Mapping[str, str | None] = {"stream": stream, "area": area}
    labels = [_label(frame, name, otherwise.get(name)).alias(name) for name in LABELS]
    needed = [F.col(name).isNotNull() for name in ("area", "sensor", "stream", "detected_at_us")]
    chosen = frame.select(*labels, time.alias("detected_at_us"))
    return chosen.filter(needed[0] & needed[1] & needed[2] & needed[3])


def known_times(spark: SparkSession, path: str) -> dict[str, Int64Array]:
    """Return the times of a file by area; those without an area are of every area and under ""."""
    frame = _read(spark, path)
    area = F.coalesce(_label(frame, "area", None), F.lit(""))
    rows = frame.select(area.alias("area"), _time_of(frame, path).alias("at_us")).dropna().toArrow()
    return by_area(rows["area"].to_pylist(), rows["at_us"].to_numpy())


def by_area(areas: list[str], at_us: Int64Array) -> dict[str, Int64Array]:
    """Return times by area, ascending; to each area belong also those of every area."""
    names = np.array(areas, dtype=object)
    return {name: np.unique(at_us[(names == name) | (names == "")]) for name in sorted({*areas})}


def _read(spark: SparkSession, path: str) -> DataFrame:
    if is_archive(Path(path)):
        return _read_archive(spark, path)
    suffixes = {each.suffix for each in Path(path).rglob("*")} if Path(path).is_dir() else {Path(path).suffix}
    return spark.read.json(path) if suffixes & {".ndjson", ".jsonl", ".json", ".gz"} else spark.read.parquet(path)


def _read_archive(spark: SparkSession, path: str) -> DataFrame:
    """Read what the archive job wrote: of files that a merge has left behind, those that count."""
    files = Archive.opened(Path(path)).files()
    if not files:
        raise SettingsError(f"{path}: the archive has no detections yet")
    return spark.read.parquet(*map(str, files)).withColumnRenamed("sensor_id", "sensor")


def _time_of(frame: DataFrame, path: str) -> Column:
    name = next((name for name in TIMES if name in frame.columns), None)
    if name is None:
        raise SettingsError(f"{path}: there is no column {' or '.join(TIMES)}")
    kind = frame.schema[name].dataType.typeName()
    if kind == "long":
        return F.col(name)
    return F.unix_micros(F.try_to_timestamp(F.col(name)) if kind == "string" else F.col(name))


def _label(frame: DataFrame, name: str, otherwise: str | None) -> Column:
    given = F.col(name).cast("string") if name in frame.columns else F.lit(None).cast("string")
    return given if otherwise is None else F.coalesce(given, F.lit(otherwise))


class _Stamp(Struct):
    sensor: str
    stream: str


class _Columns(Struct):
    stamp: list[int]
    detected_at_us: list[int]


class _Frame(Struct):
    v: int
    area: str
    stamps: list[_Stamp]
    detections: _Columns


_frame = json.Decoder(_Frame).decode
VERSION = 2


def of_topic(spark: SparkSession, kafka: KafkaConnection, topic: str) -> DataFrame:
    """Return the detections that are on the topic now; heartbeats and frames that cannot be read are left out."""
    options = {
        **spark_options(kafka),
        "subscribe": topic,
        "startingOffsets": "earliest",
        "endingOffsets": "latest",
        "failOnDataLoss": "false",
    }
    frames = spark.read.format("kafka").options(**options).load().select("value")
    return frames.mapInArrow(detections_in, DETECTION)


def detections_in(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn frames into their detections."""
    for batch in batches:
        rows = [row for value in batch["value"].to_pylist() for row in _rows(value)]
        yield pa.RecordBatch.from_pylist(rows, DETECTION_SCHEMA)


def _rows(value: bytes | None) -> Iterator[dict[str, Any]]:
    try:
        frame = _frame(value or b"")
    except UNREADABLE:
        return
    if frame.v != VERSION:
        return
    for stamp, at_us in zip(frame.detections.stamp, frame.detections.detected_at_us, strict=False):
        if 0 <= stamp < len(frame.stamps):
            of = frame.stamps[stamp]
            yield {"area": frame.area, "sensor": of.sensor, "stream": of.stream, "detected_at_us": at_us}


class PresentSensors(NamedTuple):
    """What is declared of sensors: their templates, and the models of those that have one."""

    templates: dict[SensorStream, Histogram]
    models: dict[str, str]


def present_sensors(path: Path) -> PresentSensors:
    """Return what a file such as config/sensors.yaml declares, or GET /v1/sensors?format=yaml answers."""
    document = read_yaml(path)
    try:
        made = {name: template_of_form(form) for name, form in document["templates"].items()}
        clocks: dict[str | None, Clock | None] = {None: None}
        clocks.update(clocks_of_forms(document.get("clocks", {})))
        sensors = {str(sensor["id"]): sensor for sensor in document["sensors"]}
        templates = {
            SensorStream(id_, str(stream)): template_beside(clocks[sensor.get("clock")], form, made.__getitem__)
            for id_, sensor in sensors.items()
            for stream, form in sensor["streams"].items()
        }
        models = {id_: str(sensor["model"]) for id_, sensor in sensors.items() if sensor.get("model")}
        return PresentSensors(templates, models)
    except HistogramError as error:
        raise SettingsError(f"{path}: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise SettingsError(f"{path}: is not written as config/sensors.yaml ({error!r})") from error
