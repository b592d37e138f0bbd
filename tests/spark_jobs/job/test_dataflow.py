"""What fusion reads, without starting Spark."""

import json

import pytest

from coincide.fusion.batches.live_shard import DEFERRALS
from services.common.engine.fusion_settings import FusionSettings
from spark_jobs.job.dataflow import EARLIEST, source_options

DETECTIONS, CONTROL = ("detections",), ("queries", DEFERRALS)


@pytest.mark.parametrize("roles", [DETECTIONS, CONTROL])
def test_a_first_start_reads_what_was_written_before_it(roles: tuple[str, ...]) -> None:
    assert source_options(FusionSettings(), 10, *roles)["startingOffsets"] == "earliest"


def test_where_a_line_in_one_process_went_before_it_reads_on_where_that_ended() -> None:
    starts = {"coincide.detections": {"0": 7, "1": EARLIEST}, "coincide.queries": {"0": 1}}
    options = source_options(FusionSettings(), 10, *DETECTIONS, starts=starts)
    assert json.loads(str(options["startingOffsets"])) == {"coincide.detections": {"0": 7, "1": -2}}


def test_no_detection_may_be_gone_but_deferrals_may() -> None:
    assert source_options(FusionSettings(), 10, *DETECTIONS)["failOnDataLoss"] is True
    assert source_options(FusionSettings(), 10, *CONTROL)["failOnDataLoss"] is False


def test_seconds_of_the_settings_are_milliseconds_of_kafka() -> None:
    options = source_options(FusionSettings(kafka_timeout_s=7), 10, *DETECTIONS)
    assert options["kafka.request.timeout.ms"] == 7_000
