"""Faults of what comes in: records that no component has written, and gateways whose clocks are wrong."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from random import Random

from deploy.host.machine import ROOT
from services.common.kafka.clients import close_producer, create_producer
from services.common.topics.topics_file import load_topics
from trials.chaos.faults.fault import Fault, Place, fault
from trials.chaos.load import WANDERING

HUGE_BYTES = 900_000
DEEP = 20_000
WRONG_S = (10.0, 30.0)
_WITHIN_S = 30.0


def poisons(random: Random) -> list[bytes | None]:
    """Return what is written to each topic: bytes, JSON of all shapes, some of it nearly right, and a huge record."""
    return [
        random.randbytes(200),
        b"",
        b"{not json",
        b"null",
        b"[]",
        b'{"v": 2}',
        b'{"v": 99, "id": 1, "query": {}, "area": []}',
        b'{"v": 1, "area": "nowhere", "detections": "none", "templates": {}}',
        json.dumps({"v": 1, "id": "x" * HUGE_BYTES}).encode(),
        b"[" * DEEP,
        b'{"more": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    ]


@contextmanager
def _poisoned(place: Place) -> Iterator[None]:
    producer = create_producer(place.system.layout.kafka)
    try:
        topics = load_topics(ROOT / "config" / "topics.yaml")
        written = [(topic, value) for topic in topics for value in poisons(place.random)]
        keys = (b"nowhere", place.random.randbytes(8))
        sent = [producer.send(topic, key=place.random.choice(keys), value=value) for topic, value in written]
        for each in sent:
            each.get(timeout=_WITHIN_S)
    finally:
        close_producer(producer, _WITHIN_S)
    yield


@contextmanager
def _wandering(ahead_s: int, place: Place) -> Iterator[None]:
    gateway = place.load.gateways[WANDERING]
    gateway.clock_us = ahead_s * 1_000_000
    try:
        yield
    finally:
        gateway.clock_us = 0


POISON: list[Fault] = [fault("poison on every topic", _poisoned)]
GATEWAY_CLOCKS: list[Fault] = [
    fault(f"clock of a gateway {shown}", partial(_wandering, ahead_s), lasts_s=WRONG_S)
    for ahead_s, shown in ((3600, "an hour ahead"), (-3600, "an hour behind"), (200, "200 s ahead"))
]
