"""The streaming query of the archive: Kafka records -> rows -> files that each task writes itself.

**Exactly once.** Spark notes the offsets of a micro-batch before it runs and repeats it with the same offsets after a
crash. The files of a batch are named after it and hold the same rows whenever it is repeated, so that they replace
those that a crash has left. Before the first batch of a process what an earlier one did not finish is deleted.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from coincide.fusion.records.kafka_records import InputRecord
from services.common.kafka.java_options import spark_options
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.archiving.frame_rows import FrameRows
from services.history.archiving.layout import sweep
from services.history.archiving.merging import merge_folders
from spark_jobs.archiving.job_metrics import ArchiveMetrics
from spark_jobs.settings import ArchiveSettings

INPUT_COLUMNS = ("partition", "offset", "key", "value")
COUNTS = "rows long, files long, unusable long"
ROWS_IN_FILE = 200_000  # so many are in memory at once
MERGE_EVERY = 10  # batches


def archive_query(
    spark: SparkSession, settings: ArchiveSettings, archive: Archive, metrics: ArchiveMetrics
) -> DataStreamWriter:
    """Return the query, ready to be started."""
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    records = (
        spark.readStream.format("kafka")
        .options(**spark_options(settings.kafka))
        .option("subscribe", settings.topic("detections"))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.max_offsets_per_trigger)
        .option("failOnDataLoss", not settings.allow_data_loss)
        .option("kafka.request.timeout.ms", timeout_ms)
        .option("kafka.default.api.timeout.ms", 3 * timeout_ms)
        .option("kafkaConsumer.pollTimeoutMs", 3 * timeout_ms)
        .load()
        .select(*INPUT_COLUMNS)
    )
    return (
        records.writeStream.foreachBatch(ArchiveWriter(archive, metrics).write)
        .option("checkpointLocation", str(archive.checkpoint.absolute()))
        .trigger(processingTime=f"{settings.interval_s:g} seconds")
        .queryName("archive")
    )


@dataclass
class ArchiveWriter:
    """Writes one batch after the other."""

    archive: Archive
    metrics: ArchiveMetrics
    _begun: bool = False

    def write(self, records: DataFrame, batch: int) -> None:
        """Write the files of a batch; all batches before it are committed."""
        if not self._begun:
            for folder in self.archive.folders():
                sweep(folder, batch)
            self._begun = True
        if batch % MERGE_EVERY == 0:
            today = time.strftime("%Y-%m-%d", time.gmtime())
            self.metrics.merged.inc(merge_folders(self.archive, batch, today))
        for counts in records.mapInArrow(partial(write_records, self.archive, batch), COUNTS).collect():
            self.metrics.rows.inc(counts["rows"])
            self.metrics.files.inc(counts["files"])
            self.metrics.unusable.inc(counts["unusable"])


def write_records(archive: Archive, batch: int, parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the records of one task, partition by partition of Kafka in the order of offsets; yield what was counted.

    A task gets all records of a partition that the batch has, so that names and contents do not depend on how Spark
    spreads partitions over tasks.
    """
    rows = files = unusable = 0
    collected: defaultdict[int, FrameRows] = defaultdict(FrameRows)
    written: defaultdict[int, int] = defaultdict(int)
    for part in parts:
        columns = (part.column(name).to_pylist() for name in INPUT_COLUMNS)
        for partition, offset, key, value in zip(*columns, strict=True):
            frames = collected[partition]
            frames.add(InputRecord("detections", partition, offset, key, value))
            if len(frames) >= ROWS_IN_FILE:
                rows += len(frames)
                files += _write(archive, frames, batch_file(batch, partition, written[partition]))
                written[partition] += 1
    for partition, frames in collected.items():
        rows += len(frames)
        unusable += frames.unusable
        if len(frames):
            files += _write(archive, frames, batch_file(batch, partition, written[partition]))
    yield pa.RecordBatch.from_pydict({"rows": [rows], "files": [files], "unusable": [unusable]})


def _write(archive: Archive, frames: FrameRows, name: str) -> int:
    table, templates = frames.take()
    archive.write_templates(templates)  # first: no row names one that is not there
    return archive.write(table, name)
