"""The stream of Kafka records in, and the Kafka sink."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - everybody's name for it
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs.schemas import INPUT_COLUMNS
from spark_jobs.settings import Settings
from spark_jobs.shards import shard_keys


def read_records(spark: SparkSession, settings: Settings) -> DataFrame:
    """Return the stream of detections and queries, with the columns `INPUT_COLUMNS`.

    Detections come first in the union and queries second: Spark asks for the latest offsets in that order, so a
    query that was acknowledged is never applied after a detection that was posted later. A detection goes to the
    shard of its partition, a query to every shard.
    """
    keys = F.array(*(F.lit(key) for key in shard_keys(settings.shards)))
    detections = _read(spark, settings, "detections").withColumn(
        "shard_key", F.element_at(keys, F.col("partition") % F.lit(settings.shards) + F.lit(1))
    )
    queries = _read(spark, settings, "queries").withColumn("shard_key", F.explode(keys))
    records = detections.select(*INPUT_COLUMNS).union(queries.select(*INPUT_COLUMNS))
    # Not one task for each of nine partitions: a task costs more than its reading. One shard then needs no shuffle.
    return records.coalesce(settings.shards)


def write_records(records: DataFrame, settings: Settings) -> DataStreamWriter:
    """Return the writer of rows with the columns topic, key and value; every batch is written at least once."""
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    return (
        records.writeStream.format("kafka")
        .outputMode("update")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("kafka.acks", "all")
        .option("kafka.max.block.ms", timeout_ms)
        .option("kafka.request.timeout.ms", timeout_ms)
        .option("kafka.delivery.timeout.ms", 3 * timeout_ms)
        .option("checkpointLocation", str(settings.checkpoint_path.absolute()))
    )


def _read(spark: SparkSession, settings: Settings, role: str) -> DataFrame:
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.kafka_bootstrap)
        .option("subscribe", settings.topic(role))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings.max_offsets_per_trigger)
        # Spark reads only what it knows is there, so waiting for more (500 ms by default) helps nobody: the answer to
        # a fetch that found nothing holds up the next question on that connection, 1,100 ms a batch instead of 200.
        .option("kafka.fetch.max.wait.ms", 1)
        .option("kafka.request.timeout.ms", timeout_ms)
        .option("kafka.default.api.timeout.ms", 3 * timeout_ms)
        .load()
        .withColumn("role", F.lit(role))
    )
