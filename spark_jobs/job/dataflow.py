"""The streaming query: Kafka records -> stateful operator, one state per shard -> Kafka records."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, element_at, explode, lit
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs.job.processor import INPUT_COLUMNS, OUTPUT_SCHEMA, CoreFactory, FusionProcessor
from spark_jobs.job.shards import shard_keys
from spark_jobs.settings import FusionSettings


def read_records(spark: SparkSession, settings: FusionSettings) -> DataFrame:
    """Return the stream of detections and queries, with the columns `INPUT_COLUMNS`.

    Detections come first in the union and queries second: Spark asks for the latest offsets in that order, so a
    query that was acknowledged is never applied after a detection that was posted later. A detection goes to the
    shard of its partition, a query to every shard.
    """
    keys = array(*(lit(key) for key in shard_keys(settings.shards)))
    detections = _read(spark, settings, "detections").withColumn(
        "shard_key", element_at(keys, col("partition") % lit(settings.shards) + lit(1))
    )
    queries = _read(spark, settings, "queries").withColumn("shard_key", explode(keys))
    records = detections.select(*INPUT_COLUMNS).union(queries.select(*INPUT_COLUMNS))
    # Not one task for each of nine partitions: a task costs more than its reading. One shard then needs no shuffle.
    return records.coalesce(settings.shards)


def write_records(records: DataFrame, settings: FusionSettings) -> DataStreamWriter:
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


def _read(spark: SparkSession, settings: FusionSettings, role: str) -> DataFrame:
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
        .withColumn("role", lit(role))
    )


OUTPUT_TOPICS = ("matches", "episodes", "dead-letters", "status")


def stateful_query(
    spark: SparkSession, settings: FusionSettings, cores: CoreFactory, checkpoint_id: str
) -> DataStreamWriter:
    """Return the query, ready to be started; the id names the checkpoint's contents, another after every rebuild."""
    processor = FusionProcessor(
        cores, checkpoint_id, shard_keys(settings.shards), {name: settings.topic(name) for name in OUTPUT_TOPICS}
    )
    written = (
        read_records(spark, settings)
        .groupBy("shard_key")
        # Time mode "None": "ProcessingTime" spins empty batches when the trigger is "as soon as possible".
        .transformWithStateInPandas(processor, OUTPUT_SCHEMA, outputMode="Update", timeMode="None")
    )
    return write_records(written, settings).queryName("fusion")
