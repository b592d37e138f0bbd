"""Storing what one poll brought: rows and positions in one transaction."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DataError, IntegrityError

from services.alerting.alerts.raising import Raising
from services.alerting.alerts.system_conditions import SystemConditions
from services.alerting.following.followed_topics import Position, store_positions
from services.alerting.following.sorting import Batch, sort_records
from services.alerting.metrics import Metrics
from services.alerting.records.alert import STATES
from services.alerting.records.receiver import Receivers
from services.alerting.records.records import TOPICS, is_of_rebuild
from services.alerting.store.alert_rows import StoredAlert, count_by_state, distinct
from services.alerting.store.dead_letter_rows import insert_dead_letters
from services.alerting.store.delivery_rows import give_up, settle, waiting_by_receiver
from services.alerting.store.episode_evidence import episodes_with, link_episodes, link_evidence, read_judged
from services.alerting.store.episode_rows import NewRevision, StoredEpisode, insert_episodes
from services.alerting.store.episode_sureness import keep_sureness
from services.alerting.store.evidence_rows import StoredEvidence, insert_evidence
from services.alerting.store.live_rows import StoredRow
from services.alerting.store.match_rows import StoredMatch, insert_matches
from services.alerting.store.query_rows import apply_changes, store_status
from services.common.clock import system_clock_us
from services.common.log.records import Record
from services.common.topics.topic_names import TopicNames

TIDIED_EVERY_S = 5.0
# A value is at fault, and not the state that the database is in; OverflowError is what the driver of SQLite raises.
REFUSED = DataError, IntegrityError, OverflowError

logger = logging.getLogger(__name__)


@dataclass
class NewRows:
    """The rows that were new: matches, evidence, revisions of episodes, changes of alerts; each kind in order.

    `judged` says what is known of the episodes, as JSON by their ids.
    """

    matches: list[StoredMatch] = field(default_factory=list)
    evidence: list[StoredEvidence] = field(default_factory=list)
    revisions: list[NewRevision] = field(default_factory=list)
    judged: dict[str, str] = field(default_factory=dict)
    alerts: list[StoredAlert] = field(default_factory=list)

    @property
    def newest_sequence(self) -> int:
        """The greatest place in the order of insertion; 0 where nothing is new."""
        kinds = self.matches, self.evidence, self.revisions
        return max((of[-1].sequence for of in kinds if of), default=0)

    def for_readers(self) -> list[StoredRow]:
        """Return what live readers hear of, in order: matches, evidence, and of each episode what counts now."""
        current: dict[str, StoredEpisode] = {}
        for each in map(NewRevision.stored, self.revisions):
            current.pop(each.id, None)
            current[each.id] = replace(each, evidence=self.judged.get(each.id, "null"))
        rows: list[StoredRow] = [*self.matches, *self.evidence, *current.values(), *distinct(self.alerts)]
        return sorted(rows, key=attrgetter("sequence"))


@dataclass
class Storage:
    """The one writer of matches, evidence, episodes, dead letters, queries, status and alerts."""

    engine: Engine
    metrics: Metrics
    names: TopicNames
    raising: Raising = field(default_factory=lambda: Raising(Receivers([])))
    conditions: SystemConditions = field(default_factory=SystemConditions)
    _tidy_at_s: float = 0.0
    _shown_areas: set[str] = field(default_factory=set)

    def store(self, records: Sequence[Record], reached: Iterable[Position]) -> list[StoredRow]:
        """Store `records` and that they were `reached`; return what readers of the live stream hear of.

        Storing the same records again changes nothing, so a crash before the offsets are committed is harmless.

        Raises `DBAPIError`: the database cannot be written now (locked, full, away); nothing was stored.
        """
        with self.metrics.store_time.time():
            batch = sort_records(records, self.metrics, self.names)
            try:
                with self.engine.begin() as connection:
                    new = self._insert(connection, batch)
                    store_positions(connection, reached)
            except REFUSED:
                new = self._store_singly(records, reached)
        self._observe(records, new)
        return new.for_readers()

    def _insert(self, connection: Connection, batch: Batch) -> NewRows:
        apply_changes(connection, batch.changes)
        self.raising.rules.forget(change.id for change in batch.changes)
        self.raising.note_controls(connection, batch.controls)
        settle(connection, batch.deliveries)
        matches = insert_matches(connection, batch.matches)
        self._count(TOPICS.matches, len(matches), len(batch.matches))
        new_evidence = insert_evidence(connection, batch.evidence)
        self._count(TOPICS.evidence, len(new_evidence), len(batch.evidence))
        revisions = insert_episodes(connection, batch.episodes, system_clock_us())
        self._count(TOPICS.episodes, len(revisions), len(batch.episodes))
        judged = self._link(connection, batch, NewRows(matches, new_evidence, revisions))
        letters = insert_dead_letters(connection, batch.dead_letters)
        self._count(TOPICS.dead_letters, letters, len(batch.dead_letters))
        store_status(connection, batch.statuses)
        alerts = self.raising.raise_for(connection, matches, revisions, new_evidence)
        alerts += self.raising.acknowledge(connection, batch.controls)
        return NewRows(matches, new_evidence, revisions, judged, alerts)

    def _link(self, connection: Connection, batch: Batch, new: NewRows) -> dict[str, str]:
        """Keep which new evidence and episodes are about the same; return what is known of the episodes, as JSON."""
        judges, ids = self.raising.rules.judges_episodes, {each.id for each in new.evidence}
        of_new = [each.record for each in batch.evidence if each.record.id in ids]
        link_evidence(connection, [each for each in of_new if judges(connection, each.query)])
        records = [each.received.record for each in new.revisions]
        link_episodes(connection, changed := [each for each in records if judges(connection, each.query)])
        for match in new.matches:
            if judges(connection, match.query):
                ids |= {match.id, *match.supersedes}
        changed_ids = {each.id for each in changed}
        concerned = changed_ids | episodes_with(connection, ids)
        judged = read_judged(connection, concerned)
        keep_sureness(connection, judged, concerned, new.newest_sequence)
        return {id_: judged[id_].body() for id_ in changed_ids & judged.keys()}

    def begin_anew(self) -> None:
        """Forget what was noticed of the system when this process last wrote the database: another has since."""
        self.conditions = self.conditions.anew()

    def read_again(self) -> None:
        """Forget what is remembered of the database's queries, silences and receivers: it may have become another.

        Dead letters of the last minute are read again, too.
        """
        self.raising.forget()
        self.conditions.forget_dead_letters()
        with self.engine.connect() as connection:
            self.raising.read_receivers(connection)

    def sweep(self) -> list[StoredRow]:
        """Store what time alone changes; return what readers of the live stream hear of."""
        with self.engine.begin() as connection:
            swept = self.raising.sweep(connection)
            swept += self.raising.put(connection, self.conditions.steps(connection, self.raising.now_us()))
            self._tidy(connection)
        self._show_silence()
        return NewRows(alerts=swept).for_readers()

    def _show_silence(self) -> None:
        silent, gauge = self.conditions.sensors.silent_by_area(self.conditions.clock_s()), self.metrics.silent_sensors
        for area in self._shown_areas - silent.keys():
            gauge.remove(area)
        for area, sensors in silent.items():
            gauge.labels(area).set(sensors)
        self._shown_areas = set(silent)

    def _tidy(self, connection: Connection) -> None:
        """Give up what waits for receivers that are no more, and set the metrics that say how much is stored.

        That is done seldom, for to count takes as long as there are many.
        """
        if time.monotonic() < self._tidy_at_s:
            return
        self._tidy_at_s = time.monotonic() + TIDIED_EVERY_S
        by_state = count_by_state(connection)
        for state in STATES:
            self.metrics.alerts.labels(state).set(by_state.get(state, 0))
        now_us, receivers = system_clock_us(), [each.id for each in self.raising.receivers.all()]
        give_up(connection, receivers, now_us)
        waiting = waiting_by_receiver(connection)
        for receiver in receivers:
            rows, since_us = waiting.get(receiver, (0, now_us))
            self.metrics.outbox.labels(receiver).set(rows)
            self.metrics.outbox_age.labels(receiver).set(max(0.0, (now_us - since_us) / 1e6))

    def _store_singly(self, records: Sequence[Record], reached: Iterable[Position]) -> NewRows:
        # The database refuses some value that looked right: find the record, so that it does not stop the others.
        new = NewRows()
        for record in records:
            try:
                with self.engine.begin() as connection:
                    one = self._insert(connection, sort_records([record], self.metrics, self.names))
            except REFUSED as error:
                self.metrics.malformed.labels(record.topic).inc()
                place = f"partition {record.partition} offset {record.offset}"
                logger.warning(
                    "the database refused a record", extra={"topic": record.topic, "at": f"{place}: {error}"}
                )
            else:
                new.matches += one.matches
                new.evidence += one.evidence
                new.revisions += one.revisions
                new.judged |= one.judged
                new.alerts += one.alerts
        with self.engine.begin() as connection:
            store_positions(connection, reached)
        return new

    def _count(self, name: str, new: int, received: int) -> None:
        topic = self.names.full(name)
        if received:
            self.metrics.inserted.labels(topic).inc(new)
            self.metrics.duplicates.labels(topic).inc(received - new)

    def _observe(self, records: Sequence[Record], new: NewRows) -> None:
        now_s = time.time()
        for topic, group in groupby(records, attrgetter("topic")):
            of_topic = [record for record in group if record.timestamp > 0]
            written_at_s = [record.timestamp / 1000 for record in of_topic]
            self.metrics.record_delay.labels(topic).observe_all([now_s - at_s for at_s in written_at_s])
            if self.names.short(topic) == TOPICS.dead_letters:
                self.conditions.note_dead_letters(written_at_s)
            elif self.names.short(topic) == TOPICS.status:
                of_batches = [each.timestamp for each in of_topic if not is_of_rebuild(each.key)]
                if of_batches:
                    self.conditions.note_status(max(of_batches) / 1000)
        self._observe_matches(new.matches, now_s)
        self._observe_evidence(new.evidence)
        self._observe_episodes(new.revisions, now_s)

    def _observe_matches(self, new: Sequence[StoredMatch], now_s: float) -> None:
        self.metrics.match_delay.observe_all([now_s - match.received_at_us / 1e6 for match in new])
        for query, matches in Counter(match.query for match in new).items():
            self.metrics.matches.labels(query).inc(matches)
        for match in new:
            if match.supersedes:
                self.metrics.superseded.labels(match.query).inc(len(match.supersedes))

    def _observe_evidence(self, new: Sequence[StoredEvidence]) -> None:
        for each in new:
            if each.posterior is not None:
                self.metrics.expected_true.labels(each.query).inc(each.posterior)
                self.metrics.expected_false.labels(each.query).inc(1 - each.posterior)

    def _observe_episodes(self, new: Sequence[NewRevision], now_s: float) -> None:
        came = [each.received.received_at_us for each in new if each.came_with_detection]
        self.metrics.episode_delay.observe_all([now_s - at_us / 1e6 for at_us in came])
        for each in new:
            record = each.received.record
            if each.is_first:
                self.metrics.episodes.labels(record.query).inc()
            if record.retracted:
                self.metrics.retracted.labels(record.query).inc()
