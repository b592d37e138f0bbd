"""The streaming query: Kafka records -> stateful operator, one state per shard -> Kafka records."""

import json
from collections.abc import Mapping
from functools import partial
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, element_at, explode, lit, when
from pyspark.sql.streaming.readwriter import DataStreamWriter

from coincide.fusion.batches.batch_parts import BatchParts
from coincide.fusion.batches.cores import CoreFactory
from coincide.fusion.batches.live_shard import DEFERRALS, OUTPUT_TOPICS
from services.common.checkpoint_folder import spark_folder
from services.common.engine.fusion_settings import FusionSettings
from services.common.kafka.java_options import spark_options
from spark_jobs.job.catching_up import PartsInBulk
from spark_jobs.job.control_ahead import ControlAhead
from spark_jobs.job.processor import INPUT_COLUMNS, OUTPUT_SCHEMA, FusionProcessor

SOURCE_TOPICS = ("detections", "queries")  # of which no record may be lost; of deferrals each may
EARLIEST = -2  # as Spark calls it where offsets are named
_SEED = 42  # Spark's `hash` expression always starts from it
_MASK = 0xFFFFFFFF


Starts = Mapping[str, Mapping[str, int]]
"""The offset from which a new query reads each partition of each topic, by the partition's number as text."""

FROM_THE_BEGINNING: Starts = {}


def read_records(
    spark: SparkSession, settings: FusionSettings, most_detections: int, starts: Starts = FROM_THE_BEGINNING
) -> DataFrame:
    """Return the stream of detections and queries, with the columns `INPUT_COLUMNS`.

    Detections come first in the union and queries second: Spark asks for the latest offsets in that order, so a
    query that was acknowledged is never applied after a detection that was posted later. A detection goes to the
    shard of its partition, a query to every shard. What a batch of any shard left is told to every shard, too: it has
    no source of its own, because each costs every batch a look at Kafka.
    """
    keys = array(*(lit(key) for key in shard_keys(settings.shards)))
    detections = _read(spark, settings, most_detections, starts, "detections").withColumn(
        "shard_key", element_at(keys, col("partition") % lit(settings.shards) + lit(1))
    )
    queries = _read(spark, settings, settings.max_offsets_per_trigger, starts, "queries", DEFERRALS).withColumn(
        "shard_key", explode(keys)
    )
    records = detections.select(*INPUT_COLUMNS).union(queries.select(*INPUT_COLUMNS))
    # Not one task for each of nine partitions: a task costs more than its reading. One shard then needs no shuffle.
    return records.coalesce(settings.shards)


def write_records(records: DataFrame, settings: FusionSettings, checkpoint_id: str) -> DataStreamWriter:
    """Return the writer of rows with the columns topic, key and value; every batch is written at least once."""
    folder = spark_folder(settings.checkpoint_path, checkpoint_id)
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    return (
        records.writeStream.format("kafka")
        .outputMode("update")
        .options(**spark_options(settings.kafka))
        .option("kafka.acks", "all")
        # By default nearly each record is a request of its own: 40,000 matches of a flood took the broker 5 s of a
        # core, as much as the job. Spark flushes at the end of a batch, so that nothing waits for these milliseconds.
        .option("kafka.linger.ms", 10)
        .option("kafka.batch.size", 262_144)
        .option("kafka.max.block.ms", timeout_ms)
        .option("kafka.request.timeout.ms", timeout_ms)
        .option("kafka.delivery.timeout.ms", 3 * timeout_ms)
        .option("checkpointLocation", str(folder.absolute()))
    )


def _read(spark: SparkSession, settings: FusionSettings, most_records: int, starts: Starts, *roles: str) -> DataFrame:
    role = lit(roles[0])
    for other in roles[1:]:
        role = when(col("topic") == lit(settings.topic(other)), lit(other)).otherwise(role)
    options = source_options(settings, most_records, *roles, starts=starts)
    return spark.readStream.format("kafka").options(**options).load().withColumn("role", role)


def source_options(
    settings: FusionSettings, most_records: int, *roles: str, starts: Starts = FROM_THE_BEGINNING
) -> dict[str, str | int | bool]:
    """Return from where on, how much at once, and how patiently Spark reads the topics of these roles."""
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    topics = list(map(settings.topic, roles))
    named = {topic: dict(starts[topic]) for topic in topics if topic in starts}
    return {
        **spark_options(settings.kafka),
        "subscribe": ",".join(topics),
        "startingOffsets": json.dumps(named) if named else "earliest",
        # Kafka deletes deferrals within the hour, read or not. A lost one costs nothing: it only begins a batch. Every
        # start sees to it that of the queries beside them none was lost.
        "failOnDataLoss": DEFERRALS not in roles,
        "maxOffsetsPerTrigger": most_records,
        # Spark reads only what it knows is there, so waiting for more (500 ms by default) helps nobody: the answer to
        # a fetch that found nothing holds up the next question on that connection, 1,100 ms a batch instead of 200.
        "kafka.fetch.max.wait.ms": 1,
        "kafka.request.timeout.ms": timeout_ms,
        "kafka.default.api.timeout.ms": 3 * timeout_ms,
        "kafkaConsumer.pollTimeoutMs": 3 * timeout_ms,  # else a read waits 120 s for a broker that is away
    }


def stateful_query(
    spark: SparkSession,
    settings: FusionSettings,
    cores: CoreFactory,
    checkpoint_id: str,
    in_bulk: int | None = None,
    starts: Starts = FROM_THE_BEGINNING,
    carried: Path | None = None,
) -> DataStreamWriter:
    """Return the query, ready to be started; the id names the checkpoint's contents, another after every rebuild.

    With a number of records `in_bulk` a batch takes on so many at once, and the query ends when it has read what is
    there when it starts. A checkpoint without any batch begins at ``starts``, with the state that is `CarriedState` in
    the folder ``carried``.
    """
    processor = FusionProcessor(
        cores,
        checkpoint_id,
        shard_keys(settings.shards),
        {name: settings.topic(name) for name in OUTPUT_TOPICS},
        partial(ControlAhead, settings),
        BatchParts if in_bulk is None else PartsInBulk,
        carried,
    )
    written = (
        read_records(spark, settings, in_bulk or settings.max_offsets_per_trigger, starts)
        .groupBy("shard_key")
        # Time mode "None": "ProcessingTime" spins empty batches when the trigger is "as soon as possible".
        .transformWithStateInPandas(processor, OUTPUT_SCHEMA, outputMode="Update", timeMode="None")
    )
    writer = write_records(written, settings, checkpoint_id).queryName("fusion")
    return writer if in_bulk is None else writer.trigger(availableNow=True)


def shard_keys(shards: int) -> list[int]:
    """Return one grouping key (Spark `int`) for each shard: ``pmod(hash(keys[s]), shards) == s``.

    Spark puts a row on the partition ``pmod(hash(key), n)``. Keys 0 and 1 of 2 shards meet on one partition, which
    would leave one core idle, so each shard is given the smallest key that hashes to its own number.
    """
    keys: dict[int, int] = {}
    for key in count():
        keys.setdefault(spark_hash(key) % shards, key)
        if len(keys) == shards:
            return [keys[shard] for shard in range(shards)]
    raise AssertionError("unreachable: count() never ends")


def spark_hash(value: int) -> int:
    """Return what Spark's `hash` gives for one 32-bit `int`: Murmur3 x86_32, seed 42, as a signed 32-bit integer."""
    mixed = _rotate(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    state = (_rotate(_SEED ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    state ^= 4  # the length in bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & _MASK
    state = (state ^ state >> 13) * 0xC2B2AE35 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
