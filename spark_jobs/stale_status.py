"""Takes back what shards that are no more have said: the status topic is compacted, their last words would stay."""

from __future__ import annotations

from collections.abc import Callable

from kafka import KafkaProducer

from spark_jobs.settings import Settings
from spark_jobs.shards import MOST_SHARDS


def retire_status(settings: Settings, connect: Callable[..., KafkaProducer] = KafkaProducer) -> None:
    """Write a tombstone for every shard that ``settings`` does not have; call it when the job begins anew.

    Else a job rebuilt with fewer shards would be counted together with its predecessor's, and a query's applied
    version, which is what every shard has applied, would never rise again.

    Raises
    ------
    KafkaError
        Kafka did not acknowledge them in time; writing them again is harmless.
    """
    timeout_ms = round(settings.kafka_timeout_s * 1_000)
    producer = connect(
        bootstrap_servers=settings.kafka_bootstrap.split(","),
        bootstrap_timeout_ms=timeout_ms,
        request_timeout_ms=timeout_ms,
        max_block_ms=timeout_ms,
        delivery_timeout_ms=3 * timeout_ms,
        acks="all",
        enable_idempotence=False,  # the idempotent producer never comes back from a broker that hung
        allow_auto_create_topics=False,
    )
    try:
        keys = [f"shard-{shard}".encode() for shard in range(settings.shards, MOST_SHARDS)]
        sent = [producer.send(settings.topic("status"), key=key, value=None) for key in keys]
        for future in sent:
            future.get(3 * settings.kafka_timeout_s)
    finally:
        producer.close(timeout=settings.kafka_timeout_s)
