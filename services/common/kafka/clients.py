"""Kafka clients as Coincide uses them: every wait bounded, every record acknowledged by all replicas."""

import socket
from collections.abc import Iterable
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError, TopicAuthorizationFailedError

from services.common.kafka.client_options import client_options
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.greeting import CONNECT_TIMEOUT_S, greet

#: How long a client may take to find the cluster before the caller hears that Kafka is away.
BOOTSTRAP_TIMEOUT_MS = 5_000

_PATIENCE: dict[str, Any] = {
    "bootstrap_timeout_ms": BOOTSTRAP_TIMEOUT_MS,
    # The default grows to 30 s between attempts, which is how long a returned broker would go unnoticed.
    "reconnect_backoff_max_ms": 1_000,
}


def create_producer(
    connection: KafkaConnection, *, delivery_timeout_ms: int = 10_000, **overrides: Any
) -> KafkaProducer:
    """Return a producer; blocks up to `BOOTSTRAP_TIMEOUT_MS`, so call it off the event loop.

    Idempotence is off: the client's idempotent producer wedges for ever when a broker hangs longer than the
    delivery timeout with a batch in flight, and everything downstream deduplicates anyway. Raises `KafkaError` where
    the cluster was not found in time.
    """
    options: dict[str, Any] = {
        "acks": "all",
        "enable_idempotence": False,
        "allow_auto_create_topics": False,
        "delivery_timeout_ms": delivery_timeout_ms,
        "request_timeout_ms": max(1_000, delivery_timeout_ms // 2),
        "max_block_ms": BOOTSTRAP_TIMEOUT_MS,
        "batch_size": 256 * 1024,
    }
    producer: KafkaProducer = _made(KafkaProducer, connection, **{**options, **overrides})
    return producer


def close_producer(producer: KafkaProducer, timeout_s: float) -> None:
    """End ``producer`` in ``timeout_s``; its own ``close`` raises with records unsettled, and its thread goes on."""
    try:
        producer.close(timeout=timeout_s)
    except KafkaError:
        producer._sender.force_close()  # no public way ends it


def create_consumer(
    connection: KafkaConnection, *topics: str, group_id: str | None = None, **overrides: Any
) -> KafkaConsumer:
    """Return a consumer that reads ``topics`` from the beginning and commits only when told to; see `create_admin`."""
    options: dict[str, Any] = {
        "group_id": group_id,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "request_timeout_ms": 10_000,
    }
    consumer: KafkaConsumer = _made(KafkaConsumer, connection, *topics, **{**options, **overrides})
    return consumer


def create_admin(connection: KafkaConnection) -> KafkaAdminClient:
    """Return an admin client; raises `KafkaError` where the cluster was not found in `BOOTSTRAP_TIMEOUT_MS`."""
    admin: KafkaAdminClient = _made(KafkaAdminClient, connection, request_timeout_ms=10_000)
    return admin


def _made(kind: Any, connection: KafkaConnection, *topics: str, **options: Any) -> Any:
    """Return a client of Kafka; one that did not find the cluster, as where a broker hangs, leaves no thread behind.

    Without the greeting it would try for seconds where nobody listens, and each client that gives up leaves a thread
    that goes on trying: half an hour without a broker ends in a process full of them.
    """
    greet(connection)
    begun = []

    def connections(**config: Any) -> Any:
        begun.append(kind.DEFAULT_CONFIG["kafka_client"](**config))
        return begun[-1]

    try:
        return kind(*topics, kafka_client=connections, **client_options(connection), **_PATIENCE, **options)
    except BaseException:
        for each in begun:
            each.close()
        raise


def described_topics(connection: KafkaConnection, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return what Kafka says of topics by their names; one that it does not have has no partitions. See `create_admin`.

    Their `topic_id` tells a topic from one of the same name that was made after it was deleted.
    TopicAuthorizationFailedError: Kafka does not let us see some.
    """
    admin = create_admin(connection)
    try:
        described = {topic["name"]: topic for topic in admin.describe_topics(list(names))}
    finally:
        admin.close()
    hidden = [name for name, each in described.items() if each["error_code"] == TopicAuthorizationFailedError.errno]
    if hidden:
        raise TopicAuthorizationFailedError(*hidden)
    return described


def is_refused_everywhere(connection: KafkaConnection) -> bool:
    """Return whether each address refuses connections at once, as machines do whose Kafka has ended.

    An address that does not answer in time, or whose name is not found, says nothing about Kafka.
    """
    for address in connection.addresses:
        try:
            socket.create_connection(address, CONNECT_TIMEOUT_S).close()
        except ConnectionRefusedError:
            continue
        except OSError:
            pass
        return False
    return True
