"""Make coincide.sensors say what config/sensors.yaml says: ``python -m services.ingest.registry.seed``."""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from kafka import KafkaProducer
from kafka.errors import KafkaError
from kafka.future import Future

from services.common.access.audit import AuditTrail
from services.common.access.caller import command_caller
from services.common.instants import system_clock_us
from services.common.kafka import close_producer, create_consumer, create_producer
from services.common.settings import SettingsError, load_settings, load_streams
from services.ingest.registry import sensors_topic
from services.ingest.registry.sensors import Sensor, SensorChange, audited_change
from services.ingest.registry.sensors_file import load_sensors
from services.ingest.settings import IngestSettings

ACKNOWLEDGED_WITHIN_S = 15.0
CHANGED_BY = "seed"


@dataclass(frozen=True)
class Difference:
    """How the declared sensors differ from those on the topic; ids, sorted.

    Those that somebody has `edited` since they were seeded differ too: over REST, or by accepting a template.
    """

    added: list[str]
    changed: list[str]
    edited: list[str]
    surplus: list[str]

    @classmethod
    def between(cls, present: Mapping[str, Sensor], declared: Mapping[str, Sensor]) -> Self:
        """Compare what is said of them: equal templates under other names are no change, nor who changed it last."""
        differing = sorted(each for each in present.keys() & declared.keys() if present[each] != declared[each])
        return cls(
            added=sorted(declared.keys() - present.keys()),
            changed=[each for each in differing if not is_edited(present[each])],
            edited=[each for each in differing if is_edited(present[each])],
            surplus=sorted(present.keys() - declared.keys()),
        )


def is_edited(sensor: Sensor) -> bool:
    """Whether somebody changed it since it was seeded."""
    return sensor.change.version > 0 and sensor.change.changed_by != CHANGED_BY


def seed(
    bootstrap: str, declared: Mapping[str, Sensor], *, prune: bool, dry_run: bool, overwrite: bool = False
) -> list[str]:
    """Publish the differences, and tell the audit trail; return a line for each.

    After a `KafkaError`, running it again finishes the job.
    """
    present = present_sensors(bootstrap)
    difference = Difference.between(present, declared)
    changes: dict[str, Sensor | None] = {each: declared[each] for each in difference.added}
    for each in difference.changed + (difference.edited if overwrite else []):
        change = SensorChange(present[each].change.version + 1, system_clock_us(), CHANGED_BY)
        changes[each] = replace(declared[each], change=change)
    if prune:
        changes |= dict.fromkeys(difference.surplus)
    if changes and not dry_run:
        _publish(bootstrap, present, changes)
    return _report(difference, len(declared), prune=prune, dry_run=dry_run, overwrite=overwrite)


def present_sensors(bootstrap: str) -> dict[str, Sensor]:
    """Return the sensors on the topic; raises KafkaError when Kafka is away."""
    consumer = create_consumer(bootstrap)
    try:
        sensors: dict[str, Sensor | None] = {}
        for some in sensors_topic.changes_so_far(consumer):
            sensors |= some
        return {sensor_id: sensor for sensor_id, sensor in sensors.items() if sensor is not None}
    finally:
        consumer.close(timeout_ms=1000)


class _Batch:
    """Sends records without waiting for each: a file may declare 100,000 sensors."""

    def __init__(self, producer: KafkaProducer) -> None:
        self._producer = producer
        self._sent: list[Future] = []

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Send one."""
        self._sent.append(self._producer.send(topic, value, key))

    def wait(self) -> None:
        """Return once Kafka has acknowledged what was sent, or raise a KafkaError."""
        while self._sent:
            self._sent.pop().get(ACKNOWLEDGED_WITHIN_S)


def _publish(bootstrap: str, before: Mapping[str, Sensor], changes: Mapping[str, Sensor | None]) -> None:
    producer: KafkaProducer = create_producer(bootstrap)
    batch, who = _Batch(producer), command_caller()
    audit = AuditTrail("command", batch)
    try:
        for sensor_id, sensor in changes.items():
            value = None if sensor is None else sensor.to_record()
            batch.publish(sensors_topic.SENSORS, sensor_id.encode(), value)
        batch.wait()
        for sensor_id, sensor in changes.items():
            audit.note(who, *audited_change(sensor_id, before.get(sensor_id), sensor))
        batch.wait()
    finally:
        close_producer(producer, ACKNOWLEDGED_WITHIN_S)


def _report(difference: Difference, declared: int, *, prune: bool, dry_run: bool, overwrite: bool) -> list[str]:
    would = "would be " if dry_run else ""
    lines = [f"{would}added {each}" for each in difference.added]
    lines += [f"{would}changed {each}" for each in difference.changed]
    kept = f"{would}changed back" if overwrite else "kept, because it was edited since (--overwrite changes it back):"
    lines += [f"{kept} {each}" for each in difference.edited]
    fate = f"{would}removed" if prune else "kept, although not declared (--prune removes it):"
    lines += [f"{fate} {each}" for each in difference.surplus]
    unchanged = declared - len(difference.added) - len(difference.changed) - len(difference.edited)
    return [*lines, f"{unchanged} of {declared} declared sensors were as declared"]


def main(arguments: list[str] | None = None) -> int | str:
    """Run the command; 0 when the topic says what the file says, else the sentence that `sys.exit` writes."""
    parser = argparse.ArgumentParser(prog="python -m services.ingest.registry.seed", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("config/ingest.yaml"), help="settings of ingest")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    parser.add_argument("--prune", action="store_true", help="also remove sensors that the file does not declare")
    parser.add_argument("--overwrite", action="store_true", help="also change back what was edited since")
    options = parser.parse_args(arguments)
    try:
        settings = load_settings(IngestSettings, options.config, os.environ)
        declared = load_sensors(settings.sensors_path, load_streams(settings.streams_path))
        how = {name: getattr(options, name) for name in ("prune", "dry_run", "overwrite")}
        done = seed(settings.kafka_bootstrap, declared, **how)
    except SettingsError as error:
        return str(error)
    except KafkaError as error:
        return f"Kafka at {settings.kafka_bootstrap} cannot be used: {type(error).__name__}"
    sys.stdout.write("\n".join(done) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
