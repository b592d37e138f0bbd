"""Learn templates on Spark: `python -m spark_jobs.calibrate (FILES | --topic) (--reference FILE | ...)`.

Errors are found and templates learnt for each sensor and stream in a task of its own; with --consensus for each area.
Sensors with few errors of their own are then learnt stream by stream, from all of their model or stream.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
from kafka.errors import KafkaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it

from coincide import Window
from coincide.arrays.kinds import Int64Array
from coincide.errors import WindowError
from coincide.joins.echoes import LONGEST_ECHO_S
from coincide.learning import Calibration, Learning, SensorStream
from coincide.learning.pp_picture import pp_picture
from coincide.learning.sensors_yaml import sensors_yaml
from coincide.wire.declarations.template_proposal import proposal_of
from services.common.clock import system_clock_us
from services.common.engine.fusion_settings import FusionSettings
from services.common.log.faults import LogError
from services.common.program.skeleton import exit_status, parser_of, settings_of
from services.common.settings import SettingsError
from services.history.runs.calibration_tasks import (
    LEARNT,
    NO_ECHOES,
    ByConsensus,
    ByPool,
    ByReference,
    Echoes,
    calibration_in,
)
from spark_jobs.calibrating import sources
from spark_jobs.calibrating.proposing import propose
from spark_jobs.job.session import SessionError, create_session, end_session, shipped_code


@dataclass(frozen=True)
class Calibrated:
    """What came out, and the area of each sensor."""

    calibrations: list[Calibration]
    area_of: dict[SensorStream, str]


def calibrated(
    detections: DataFrame,
    references_us: dict[str, Int64Array] | None,
    learning: Learning,
    echoes: Echoes = NO_ECHOES,
) -> Calibrated:
    """Learn from the detections; without references from the consensus of the other sensors of each area.

    References are sent to every task, 8 bytes each. The errors of one stream have room in one task, where a sensor of
    it has fewer than 30.
    """
    if references_us is None:
        groups = detections.groupBy("area").applyInArrow(_plain(ByConsensus(learning, echoes)), LEARNT)
    else:
        by = detections.groupBy("area", "sensor", "stream")
        groups = by.applyInArrow(_plain(ByReference(references_us, learning, echoes)), LEARNT)
    learnt = groups.persist()
    try:
        own = learnt.filter(F.col("calibration").isNotNull()).select("area", "sensor", "stream", "calibration")
        lacking = [row[0] for row in learnt.filter(F.col("calibration").isNull()).select("stream").distinct().collect()]
        few = (
            learnt.filter(F.col("stream").isin(lacking))
            .groupBy("stream")
            .applyInArrow(_plain(ByPool(learning)), LEARNT)
        )
        parts = [own, few.select(*own.columns)] if lacking else [own]
        rows = reduce(DataFrame.unionByName, parts).collect()
    finally:
        learnt.unpersist()
    area_of = _areas([(row["sensor"], row["area"]) for row in rows])
    calibrations = sorted((calibration_in(row["calibration"]) for row in rows), key=lambda each: each.of)
    return Calibrated(calibrations, {each.of: area_of[each.of.sensor] for each in calibrations})


def _areas(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the area of each sensor; a `SettingsError` names one that is in two."""
    area_of: dict[str, str] = {}
    for sensor, area in pairs:
        if area_of.setdefault(sensor, area) != area:
            raise SettingsError(f"sensor {sensor!r} is in two areas, {area_of[sensor]!r} and {area!r}")
    return area_of


def _plain(task: Callable[[pa.Table], pa.Table]) -> Callable[[pa.Table], pa.Table]:
    """Return a function: Spark counts the arguments of what it is given, and self would be one."""

    def learn(table: pa.Table) -> pa.Table:
        return task(table)

    return learn


def _run(spark: SparkSession, given: argparse.Namespace, settings: FusionSettings) -> Calibrated:
    if given.topic:
        topic = settings.topic("detections")
        detections = sources.of_topic(spark, settings.kafka, topic)
    else:
        detections = sources.of_files(spark, given.files, given.stream, given.area)
    templates, models = sources.present_sensors(given.present) if given.present else (None, None)
    references_us = None
    if given.reference:
        references_us = sources.known_times(spark, given.reference)
    elif given.reference_stream:
        trusted = (
            detections.filter(F.col("stream") == given.reference_stream).select("area", "detected_at_us").toArrow()
        )
        references_us = sources.by_area(trusted["area"].to_pylist(), trusted["detected_at_us"].to_numpy())
        detections = detections.filter(F.col("stream") != given.reference_stream)
    learning = Learning(given.within, given.buckets, models, templates)
    return calibrated(detections, references_us, learning, Echoes(otherwise_us=given.echo))


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn and write; return the exit status: 0, or after one sentence on standard error 1 or `REFUSED`."""
    parser = _parser()
    given = parser.parse_args(_with_joined_windows(sys.argv[1:] if arguments is None else arguments))
    if not given.out and not given.propose and not given.picture:
        parser.error("one of the arguments --out --propose --picture is required")
    for option in ("consensus", "propose"):
        if getattr(given, option) and not given.present:
            parser.error(f"argument --{option}: needs the present templates: --present")

    def run() -> None:
        settings = settings_of(FusionSettings, given)
        spark = create_session(settings)
        try:
            with shipped_code(spark):
                found = _run(spark, given, settings)
        finally:
            end_session(spark, settings.stop_timeout_s)
        for line in _given_out(found, given, settings):
            print(line)  # noqa: T201 - for the person who started it

    return exit_status("calibrate", run, SessionError, OSError, KafkaError, LogError)


def _given_out(found: Calibrated, given: argparse.Namespace, settings: FusionSettings) -> Iterator[str]:
    learnt = [each for each in found.calibrations if each.learnt is not None]
    yield f"{len(learnt)} templates for {len(found.calibrations)} sensors and streams"
    if given.out:
        given.out.write_text(sensors_yaml(found.calibrations, found.area_of), encoding="utf-8")
        yield f"written to {given.out}"
    if given.picture:
        given.picture.write_text(pp_picture(found.calibrations), encoding="utf-8")
        yield f"drawn in {given.picture}"
    if given.propose:
        now_us = system_clock_us()
        proposals = [proposal for each in learnt if (proposal := proposal_of(each, now_us)) is not None]
        better = [each for each in proposals if each.is_better]
        judged = sum(each.is_judged for each in proposals)
        propose(settings, better)
        yield f"proposed {len(better)}; the present templates of {judged - len(better)} do as well on later errors"
        if judged < len(learnt):
            yield f"{len(learnt) - judged} are not proposed: later errors are too few, or no present template is known"


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("spark_jobs.calibrate", "Learn templates on Spark.", Path("config/fusion.yaml"))
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("files", nargs="?", help="a folder or file of detections, Parquet or NDJSON")
    where.add_argument("--topic", action="store_true", help="the detections that are on the topic now")
    truth = parser.add_mutually_exclusive_group(required=True)
    truth.add_argument("--reference", metavar="FILE", help="known times, Parquet or NDJSON")
    truth.add_argument("--reference-stream", metavar="NAME", help="a stream that is right")
    truth.add_argument("--consensus", action="store_true", help="what the other sensors of an area say together")
    parser.add_argument("--within", type=_within, default=Window(60.0), metavar="LO:HI", help="errors to look for, s")
    parser.add_argument("--buckets", type=int, default=8, help="at most so many in a template (8)")
    present = "present templates and models of sensors, as config/sensors.yaml has them"
    parser.add_argument("--present", type=Path, metavar="FILE", help=present)
    echo = "seconds: a report that a sensor makes at most so long after another one is its echo, and teaches nothing"
    parser.add_argument("--echo", type=_echo_us, metavar="S", help=echo)
    parser.add_argument("--stream", metavar="NAME", help="of rows that name none")
    parser.add_argument("--area", metavar="NAME", help="of rows that name none")
    parser.add_argument("--out", type=Path, metavar="FILE.yaml", help="where to: as config/sensors.yaml is written")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to: how well each does, as P-P plots")
    parser.add_argument(
        "--propose", action="store_true", help="write proposals, which wait until somebody accepts them"
    )
    parser.add_argument("--master", help="Spark master; wins over the setting of that name")
    return parser


def _with_joined_windows(words: Sequence[str]) -> list[str]:
    """Join ``--within -10:2`` to one word: argparse would take -10:2 for an option."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] == "--within" and re.match(r"-[\d.]", word):
            joined[-1] = f"--within={word}"
        else:
            joined.append(word)
    return joined


def _echo_us(text: str) -> int:
    try:
        echo_s = float(text)
    except ValueError:
        echo_s = -1.0
    if not 0 <= echo_s <= LONGEST_ECHO_S:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, from 0 to {LONGEST_ECHO_S:g}")
    return round(echo_s * 1e6)


def _within(text: str) -> Window:
    lo, colon, hi = text.partition(":")
    try:
        return Window(lo_s=float(lo), hi_s=float(hi)) if colon else Window(float(lo))
    except WindowError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: seconds, such as 5 or -10:1") from None


if __name__ == "__main__":
    sys.exit(main())
