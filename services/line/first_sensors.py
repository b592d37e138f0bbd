"""The sensors of the file, which a log gets that never had any; later ones come over REST."""

from services.common.declared_streams import DeclaredStreams
from services.common.log.log import Log
from services.common.log.records import NewRecord, TopicPartition
from services.common.settings import load_streams
from services.ingest.registry.named_templates import TEMPLATES
from services.ingest.registry.registered_clocks import CLOCKS
from services.ingest.registry.sensors_file import load_declared
from services.ingest.registry.sensors_topic import SENSORS
from services.ingest.settings import IngestSettings

APPEND_TIMEOUT_S = 30.0


def append_first_sensors(log: Log, settings: IngestSettings) -> None:
    """Append the clocks, templates and sensors that are declared, all or none, unless there ever was a sensor.

    Raises `SettingsError`: the file cannot be used.
    """
    names = settings.topic_names
    with log.reader() as reader:
        if any(reader.ends([TopicPartition(names.full(SENSORS), 0)]).values()):
            return
    declared = load_declared(settings.sensors_path, DeclaredStreams(load_streams(settings.streams_path)))
    of_topics = (CLOCKS, declared.clocks), (TEMPLATES, declared.templates), (SENSORS, declared.sensors)
    records = [
        NewRecord(names.full(topic), name.encode(), each.to_record())
        for topic, things in of_topics
        for name, each in things.items()
    ]
    if records:
        log.append(records).result(APPEND_TIMEOUT_S)
