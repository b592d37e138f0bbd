"""Make coincide.sensors say what config/sensors.yaml says: ``python -m services.ingest.registry.seed``."""

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kafka import KafkaProducer
from kafka.errors import KafkaError

from services.common.kafka import close_producer, create_consumer, create_producer
from services.common.settings import SettingsError, load_settings, load_streams
from services.ingest.registry import sensors_topic
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_file import load_sensors
from services.ingest.settings import IngestSettings

ACKNOWLEDGED_WITHIN_S = 15.0


@dataclass(frozen=True)
class Difference:
    """How the declared sensors differ from those on the topic; ids, sorted."""

    added: list[str]
    changed: list[str]
    surplus: list[str]

    @classmethod
    def between(cls, present: Mapping[str, Sensor], declared: Mapping[str, Sensor]) -> Self:
        """Compare by what would be written, so that equal templates under other names are no change."""
        common = present.keys() & declared.keys()
        return cls(
            added=sorted(declared.keys() - present.keys()),
            changed=sorted(each for each in common if present[each].to_record() != declared[each].to_record()),
            surplus=sorted(present.keys() - declared.keys()),
        )


def seed(bootstrap: str, declared: Mapping[str, Sensor], *, prune: bool, dry_run: bool) -> list[str]:
    """Publish the differences; return a line for each. After a `KafkaError`, running it again finishes the job."""
    difference = Difference.between(present_sensors(bootstrap), declared)
    new = difference.added + difference.changed
    records: dict[str, bytes | None] = {each: declared[each].to_record() for each in new}
    if prune:
        records |= dict.fromkeys(difference.surplus)
    if records and not dry_run:
        _publish(bootstrap, records)
    return _report(difference, len(declared), prune=prune, dry_run=dry_run)


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


def _publish(bootstrap: str, records: Mapping[str, bytes | None]) -> None:
    producer: KafkaProducer = create_producer(bootstrap)
    try:
        sent = [producer.send(sensors_topic.SENSORS, value, key.encode()) for key, value in records.items()]
        for future in sent:
            future.get(ACKNOWLEDGED_WITHIN_S)
    finally:
        close_producer(producer, ACKNOWLEDGED_WITHIN_S)


def _report(difference: Difference, declared: int, *, prune: bool, dry_run: bool) -> list[str]:
    would = "would be " if dry_run else ""
    lines = [f"{would}added {each}" for each in difference.added]
    lines += [f"{would}changed {each}" for each in difference.changed]
    fate = f"{would}removed" if prune else "kept, although not declared (--prune removes it):"
    lines += [f"{fate} {each}" for each in difference.surplus]
    unchanged = declared - len(difference.added) - len(difference.changed)
    return [*lines, f"{unchanged} of {declared} declared sensors were as declared"]


def main(arguments: list[str] | None = None) -> int | str:
    """Run the command; 0 when the topic says what the file says, else the sentence that `sys.exit` writes."""
    parser = argparse.ArgumentParser(prog="python -m services.ingest.registry.seed", description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("config/ingest.yaml"), help="settings of ingest")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    parser.add_argument("--prune", action="store_true", help="also remove sensors that the file does not declare")
    options = parser.parse_args(arguments)
    try:
        settings = load_settings(IngestSettings, options.config, os.environ)
        declared = load_sensors(settings.sensors_path, load_streams(settings.streams_path))
        done = seed(settings.kafka_bootstrap, declared, prune=options.prune, dry_run=options.dry_run)
    except SettingsError as error:
        return str(error)
    except KafkaError as error:
        return f"Kafka at {settings.kafka_bootstrap} cannot be used: {type(error).__name__}"
    sys.stdout.write("\n".join(done) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
