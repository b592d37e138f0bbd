"""``make backup`` and ``make restore``: everything of one system into a folder, and from there into an empty one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.host.machine import ROOT, LocalError
from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from deploy.local.layout import Layout, settings_of
from deploy.local.system import System
from services.alerting.settings import AlertingSettings
from services.backup.copies import restore_configuration
from services.backup.database import database_file
from services.backup.exact_logs import KafkaPlace
from services.backup.folder import BackupError, Manifest, opened
from services.backup.whole import SystemPlaces, restore, save
from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import CONFIG_VARIABLE, SettingsError, located
from services.common.topics.topics_file import load_topics
from spark_jobs.recovery.checkpoint import ask_for_rebuild


def back_up(system: System, folder: Path) -> Manifest:
    """Write a backup of the running ``system`` into a new ``folder``; a `LocalError` says why there is none."""
    if not (system.supervision.is_running and system.is_ready("kafka")):
        raise LocalError("the system does not run: start it with `make up`, for Kafka reads its topics to us")
    with _told_here():
        return save(_places(system.layout), folder)


def open_backup(folder: Path) -> Manifest:
    """Return what is in the backup in ``folder``; a `LocalError` says what is wrong with it."""
    with _told_here():
        return opened(folder)


def put_configuration_back(folder: Path, manifest: Manifest) -> None:
    """Put one's own configuration back: it says where everything else lies."""
    own = os.environ.get(CONFIG_VARIABLE)
    with _told_here():
        restore_configuration(folder, manifest, Path(own) if own else None)


def put_back(folder: Path, manifest: Manifest, system: System) -> None:
    """Restore a backup into ``system``, which must have nothing yet; it does not run afterwards."""
    if system.supervision.is_running:
        raise LocalError("the system runs: stop it with `make down`, and restore where there is nothing yet")
    with _told_here():
        places = _places(system.layout)
        for each in (system.layout.runtime / "kafka", places.checkpoint):
            if each is not None and each.exists():
                raise LocalError(f"there is a system already, in {each}: `make clean` deletes all that it has")
        start_kafka(system)
        try:
            goes_on = restore(folder, manifest, places)
        finally:
            system.down()
    if not goes_on and places.checkpoint is not None:
        ask_for_rebuild(places.checkpoint)


@contextmanager
def _told_here() -> Iterator[None]:
    """Let what is wrong with a backup or a setting end the command, as what is wrong with the system does."""
    try:
        yield
    except (BackupError, SettingsError) as error:
        raise LocalError(str(error)) from error


def start_kafka(system: System) -> None:
    """Start the process runner of a system that is down, and Kafka alone."""
    java = find_java()
    ensure_jars(java)
    system.layout.runtime.mkdir(parents=True, exist_ok=True)
    system.supervision.start(java.home)
    try:
        system.start_broker()
    except LocalError:
        system.down()
        raise


def _places(layout: Layout) -> SystemPlaces:
    environ = {**os.environ, **layout.overrides}
    database = settings_of(AlertingSettings, environ).database_url
    file = database_file(database)
    own = environ.get(CONFIG_VARIABLE)
    return SystemPlaces(
        KafkaPlace(layout.kafka),
        load_topics(ROOT / located(Path("config/topics.yaml"), environ), layout.topic_names),
        layout.topic_names,
        database if file is None else f"sqlite:///{(ROOT / file).absolute()}",
        ROOT / settings_of(FusionSettings, environ).checkpoint_path,
        Path(own) if own else None,
    )
