"""The streaming query: Kafka records -> stateful operator, one state per shard -> Kafka records."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from spark_jobs.fusion_processor import CoreFactory, FusionProcessor
from spark_jobs.kafka import read_records, write_records
from spark_jobs.schemas import OUTPUT_SCHEMA
from spark_jobs.settings import Settings
from spark_jobs.shards import shard_keys

OUTPUT_TOPICS = ("matches", "episodes", "dead-letters", "status")


def stateful_query(spark: SparkSession, settings: Settings, cores: CoreFactory, checkpoint_id: str) -> DataStreamWriter:
    """Return the query, ready to be started, that runs one of ``cores`` per shard.

    ``checkpoint_id`` names the checkpoint's contents: another one after every rebuild.
    """
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
