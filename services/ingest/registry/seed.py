"""Make the registered sensors, templates and clocks those of config/sensors.yaml: ``services.ingest.registry.seed``."""

import argparse
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self, TypeVar

from kafka import KafkaProducer, TopicPartition
from kafka.consumer.fetcher import ConsumerRecord
from kafka.errors import KafkaError
from kafka.future import Future

from coincide.wire.last_change import LastChange
from services.common.access.audit import AuditTrail
from services.common.access.caller import command_caller
from services.common.clock import system_clock_us
from services.common.declared_streams import DeclaredStreams
from services.common.kafka.clients import close_producer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.topic_reader import TopicReader
from services.common.program.skeleton import exit_status, parser_of
from services.common.settings import Streams, load_settings, load_streams
from services.common.topics.compacted_topic import read_whole
from services.common.topics.topic_names import DEFAULT_PREFIX, TopicNames
from services.ingest.registry.followed_changes import audited
from services.ingest.registry.named_templates import (
    TEMPLATES,
    NamedTemplate,
    NamedTemplates,
)
from services.ingest.registry.registered_clocks import CLOCKS, RegisteredClock, RegisteredClocks
from services.ingest.registry.sensors import Sensor, audited_change
from services.ingest.registry.sensors_file import load_declared
from services.ingest.registry.sensors_topic import SENSORS, changes
from services.ingest.registry.stream_changes import QUERIES
from services.ingest.registry.template_renewal import renewed
from services.ingest.settings import IngestSettings

ACKNOWLEDGED_WITHIN_S = 15.0
CHANGED_BY = "seed"


T = TypeVar("T", Sensor, NamedTemplate, RegisteredClock)
Changes = dict[str, T | None]


@dataclass(frozen=True)
class Difference:
    """How the declared sensors, templates or clocks differ from those on the topic; ids, or names, sorted.

    Those that somebody has `edited` since they were seeded differ too: over REST, or by accepting a template.
    """

    added: list[str]
    changed: list[str]
    edited: list[str]
    surplus: list[str]

    @classmethod
    def between(cls, present: Mapping[str, T], declared: Mapping[str, T]) -> Self:
        """Compare what is said of them; who changed it last is no difference."""
        differing = sorted(each for each in present.keys() & declared.keys() if present[each] != declared[each])
        return cls(
            added=sorted(declared.keys() - present.keys()),
            changed=[each for each in differing if not is_edited(present[each])],
            edited=[each for each in differing if is_edited(present[each])],
            surplus=sorted(present.keys() - declared.keys()),
        )

    def changes(self, present: Mapping[str, T], declared: Mapping[str, T], *, overwrite: bool) -> Changes[T]:
        """Return what is to be written, so that they are as declared."""
        written: Changes[T] = {each: declared[each] for each in self.added}
        for each in self.changed + (self.edited if overwrite else []):
            written[each] = _seeded(present[each], declared[each])
        return written


def is_edited(known: Sensor | NamedTemplate | RegisteredClock) -> bool:
    """Whether somebody changed it since it was seeded."""
    return known.change.version > 0 and known.change.changed_by != CHANGED_BY


def _seeded(before: T, after: T) -> T:
    return replace(after, change=LastChange(before.change.version + 1, system_clock_us(), CHANGED_BY))


def seed(
    kafka: KafkaConnection,
    sensors: Mapping[str, Sensor],
    templates: Mapping[str, NamedTemplate] = MappingProxyType({}),
    clocks: Mapping[str, RegisteredClock] = MappingProxyType({}),
    *,
    prune: bool,
    dry_run: bool,
    overwrite: bool = False,
    prefix: str = DEFAULT_PREFIX,
) -> list[str]:
    """Publish the differences, and tell the audit trail; return a line for each. `prefix` is that of the topics.

    After a `KafkaError`, running it again finishes the job.
    """
    present, named, present_of_clocks = present_registry(kafka, prefix)
    of_templates, of_clocks = Difference.between(named, templates), Difference.between(present_of_clocks, clocks)
    new_templates = of_templates.changes(named, templates, overwrite=overwrite)
    new_clocks = of_clocks.changes(present_of_clocks, clocks, overwrite=overwrite)
    parts = named | _there(new_templates), present_of_clocks | _there(new_clocks)
    wanted = {id_: renewed(sensor, *parts) for id_, sensor in sensors.items()}
    of_sensors = Difference.between(present, wanted)
    changes = of_sensors.changes(present, wanted, overwrite=overwrite)
    if prune:
        changes |= dict.fromkeys(of_sensors.surplus)
    changes |= _following(present, changes, *parts)
    if prune:
        left = _there({**present, **changes}).values()
        of_templates = _unused(of_templates, {name for sensor in left for name in sensor.names.values()})
        of_clocks = _unused(of_clocks, {sensor.clock for sensor in left})
        new_templates |= dict.fromkeys(of_templates.surplus)
        new_clocks |= dict.fromkeys(of_clocks.surplus)
    if not dry_run:
        written = (present_of_clocks, new_clocks), (named, new_templates), (present, changes)
        _publish(kafka, TopicNames(prefix), *written)
    report = partial(_report, prune=prune, dry_run=dry_run, overwrite=overwrite)
    lines = report(of_clocks, len(clocks), kind="clock ") if clocks or present_of_clocks else []
    lines += report(of_templates, len(templates), kind="template ") if templates or named else []
    return lines + report(of_sensors, len(sensors))


def _unused(difference: Difference, used: Collection[str | None]) -> Difference:
    return replace(difference, surplus=[each for each in difference.surplus if each not in used])


def _there(changes: Changes[T]) -> dict[str, T]:
    return {name: each for name, each in changes.items() if each is not None}


def _following(
    present: Mapping[str, Sensor],
    changes: Changes[Sensor],
    templates: Mapping[str, NamedTemplate],
    clocks: Mapping[str, RegisteredClock],
) -> Changes[Sensor]:
    """Return the sensors that the file does not change, but a template or a clock that they name."""
    others = {id_: sensor for id_, sensor in present.items() if id_ not in changes}
    follow = {id_: renewed(sensor, templates, clocks) for id_, sensor in others.items()}
    return {id_: _seeded(others[id_], sensor) for id_, sensor in follow.items() if sensor != others[id_]}


def was_ever_seeded(kafka: KafkaConnection, prefix: str = DEFAULT_PREFIX) -> bool:
    """Whether there ever was a sensor, also one that was removed since; raises KafkaError when Kafka is away."""
    with TopicReader.connected(kafka) as reader:
        return any(reader.ends([TopicPartition(TopicNames(prefix).full(SENSORS), 0)]).values())


class Present(NamedTuple):
    """What is on the topics."""

    sensors: dict[str, Sensor]
    templates: dict[str, NamedTemplate]
    clocks: dict[str, RegisteredClock]


def present_registry(kafka: KafkaConnection, prefix: str = DEFAULT_PREFIX) -> Present:
    """Return the sensors, templates and clocks on the topics; raises KafkaError when Kafka is away."""
    templates, clocks = NamedTemplates(), RegisteredClocks()
    templates.replace(_whole(TEMPLATES, kafka, prefix))
    clocks.replace(_whole(CLOCKS, kafka, prefix))
    return Present(present_sensors(kafka, prefix), dict(templates), dict(clocks))


def present_sensors(kafka: KafkaConnection, prefix: str = DEFAULT_PREFIX) -> dict[str, Sensor]:
    """Return the sensors on the topic; raises KafkaError when Kafka is away."""
    sensors: dict[str, Sensor | None] = {}
    for records in _whole(SENSORS, kafka, prefix):
        sensors |= changes(records, lambda: None)
    return _there(sensors)


def present_streams(kafka: KafkaConnection, file: Streams, prefix: str = DEFAULT_PREFIX) -> Streams:
    """Return the streams of the file as REST has changed them since; raises KafkaError when Kafka is away."""
    streams = DeclaredStreams(file, follows=True)
    streams.replace(_whole(QUERIES, kafka, prefix))
    return streams


def _whole(topic: str, kafka: KafkaConnection, prefix: str) -> Iterator[list[ConsumerRecord]]:
    return read_whole(partial(TopicReader.connected, kafka), TopicNames(prefix).full(topic))


class _Batch:
    """Sends records without waiting for each: a file may declare 100,000 sensors."""

    def __init__(self, producer: KafkaProducer, names: TopicNames) -> None:
        self._producer, self._names = producer, names
        self._sent: list[Future] = []

    def publish(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """Send one."""
        self._sent.append(self._producer.send(self._names.full(topic), value, key))

    def wait(self) -> None:
        """Return once Kafka has acknowledged what was sent, or raise a KafkaError."""
        while self._sent:
            self._sent.pop().get(ACKNOWLEDGED_WITHIN_S)


def _publish(
    kafka: KafkaConnection,
    names: TopicNames,
    clocks: tuple[Mapping[str, RegisteredClock], Changes[RegisteredClock]],
    templates: tuple[Mapping[str, NamedTemplate], Changes[NamedTemplate]],
    sensors: tuple[Mapping[str, Sensor], Changes[Sensor]],
) -> None:
    """Write what sensors name before the sensors, and then what the audit trail tells: each with what was present."""
    producer: KafkaProducer = create_producer(kafka)
    batch, who = _Batch(producer, names), command_caller()
    audit = AuditTrail("command", batch)
    try:
        for topic, changes in ((CLOCKS, clocks[1]), (TEMPLATES, templates[1]), (SENSORS, sensors[1])):
            for name, each in changes.items():
                batch.publish(topic, name.encode(), None if each is None else each.to_record())
            batch.wait()
        for name, clock in clocks[1].items():
            audit.note(who, *audited("clock", name, clocks[0].get(name), clock))
        for name, template in templates[1].items():
            audit.note(who, *audited("template", name, templates[0].get(name), template))
        for name, sensor in sensors[1].items():
            audit.note(who, *audited_change(name, sensors[0].get(name), sensor))
        batch.wait()
    finally:
        close_producer(producer, ACKNOWLEDGED_WITHIN_S)


def _report(
    difference: Difference, declared: int, *, prune: bool, dry_run: bool, overwrite: bool, kind: str = ""
) -> list[str]:
    would = "would be " if dry_run else ""
    lines = [f"{would}added {kind}{each}" for each in difference.added]
    lines += [f"{would}changed {kind}{each}" for each in difference.changed]
    kept = f"{would}changed back" if overwrite else "kept, because it was edited since (--overwrite changes it back):"
    lines += [f"{kept} {kind}{each}" for each in difference.edited]
    fate = f"{would}removed" if prune else "kept, although not declared (--prune removes it):"
    lines += [f"{fate} {kind}{each}" for each in difference.surplus]
    unchanged = declared - len(difference.added) - len(difference.changed) - len(difference.edited)
    return [*lines, f"{unchanged} of {declared} declared {kind.strip() or 'sensor'}s were as declared"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status, 0 when the topic says what the file says."""
    description = "Make the registered sensors, templates and clocks those of config/sensors.yaml."
    parser = parser_of("services.ingest.registry.seed", description, Path("config/ingest.yaml"))
    parser.add_argument("--first", action="store_true", help="do nothing where a sensor was ever registered")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    parser.add_argument("--prune", action="store_true", help="also remove sensors that the file does not declare")
    parser.add_argument("--overwrite", action="store_true", help="also change back what was edited since")
    options = parser.parse_args(arguments)
    return exit_status("seed", lambda: _run(options), KafkaError)


def _run(options: argparse.Namespace) -> None:
    settings = load_settings(IngestSettings, options.config, os.environ)
    kafka, prefix = settings.kafka, settings.topic_prefix
    if options.first and was_ever_seeded(kafka, prefix):
        sys.stdout.write("sensors were registered before: the file is not read (leave out --first to publish it)\n")
        return
    streams = present_streams(kafka, load_streams(settings.streams_path), prefix)
    declared = load_declared(settings.sensors_path, streams)
    how = {name: getattr(options, name) for name in ("prune", "dry_run", "overwrite")}
    done = seed(kafka, declared.sensors, declared.templates, declared.clocks, **how, prefix=prefix)
    sys.stdout.write("\n".join(done) + "\n")


if __name__ == "__main__":
    sys.exit(main())
