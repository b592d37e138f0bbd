"""Standing by: what a process does while another writes the database, so that its REST and live stream say the same."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from services.alerting.alerts.controls import RECEIVER, read_controls
from services.alerting.following.followed_topics import read_positions
from services.alerting.following.handing_over import HandingOver
from services.alerting.following.projection import Progress, no_answer
from services.alerting.metrics import Metrics
from services.alerting.records.receiver import Receivers
from services.alerting.records.records import TOPICS
from services.common.topics.topic_names import TopicNames

LOOKED_AT_EVERY_S = 0.2


@dataclass
class Standby:
    """Looks into the database for what the process that writes has stored, and how far it has read.

    `log_answers` says whether this process could publish a change.
    """

    engine: Engine
    handing_over: HandingOver
    receivers: Receivers
    progress: Progress
    metrics: Metrics
    log_answers: Callable[[], bool]
    names: TopicNames
    log_name: str

    def watch(self, stopping: threading.Event, is_over: Callable[[], bool]) -> None:
        """Look until `stopping` or `is_over`; raises `SQLAlchemyError` where the database does not answer."""
        reached: dict[str, int] = {}
        while not stopping.is_set() and not is_over():
            self.handing_over.catch_up()
            with self.engine.connect() as connection:
                self._tell_reached(connection, reached)
            self._note_contact()
            stopping.wait(LOOKED_AT_EVERY_S)

    def _tell_reached(self, connection: Connection, reached: dict[str, int]) -> None:
        """Tell how far the topics were read that somebody may wait for, after what was read is in force here, too."""
        for position in read_positions(connection):
            topic, offset = self.names.short(position.topic), position.next_offset
            if topic not in TOPICS.awaited() or reached.get(topic) == offset:
                continue
            reached[topic] = offset
            if topic == TOPICS.alert_controls:
                self.receivers.replace_added(read_controls(connection, RECEIVER))
            if topic == TOPICS.queries:
                self.progress.caught_up()
            self.handing_over.listeners.reached(topic, offset)

    def _note_contact(self) -> None:
        answers = self.log_answers()
        self.metrics.kafka_up.set(answers)
        if answers:
            self.progress.heard()
        else:
            self.progress.failed(no_answer(self.log_name))
