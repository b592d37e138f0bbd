"""What alerting itself finds to be wrong with the system, from what passes through it."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from coincide.wire.status_record import StatusRecord
from services.alerting.alerts.alert_conditions import SHOWN_AT_MOST, SystemCondition, steps_to
from services.alerting.alerts.sensor_conditions import SensorConditions, in_words
from services.alerting.records.alert import Alert, Step
from services.alerting.store import alert_rows
from services.alerting.store.query_rows import QueryReport, read_queries, read_status

MINUTE_S = 60.0


@dataclass(frozen=True)
class ConditionLimits:
    """From when on something is wrong; None: never. A system in which nothing happens keeps all of them."""

    line_stalled_s: float | None = 75.0
    dead_letters_per_minute: int | None = 600
    no_detections_s: float | None = 86_400.0


@dataclass
class SystemConditions:
    """Watches what alerting reads, on the thread that reads it; `sensors` watches what fusion hears of sensors."""

    limits: ConditionLimits = field(default_factory=ConditionLimits)
    sensors: SensorConditions = field(default_factory=SensorConditions)
    clock_s: Callable[[], float] = time.time
    _waits_since_s: float | None = None
    _batch_at_us: int = 0  # when fusion has finished the last one that is known
    _end: int | None = None  # of coincide.detections
    _detections: int | None = None
    _detected_at_s: float = 0.0
    _dead_letters: deque[float] = field(default_factory=deque)
    _has_read_letters: bool = False  # whether all that there are on Kafka have been taken in

    def anew(self) -> "SystemConditions":
        """Return these without what was noticed so far."""
        sensors = SensorConditions(self.sensors.registered, self.sensors.heard, self.sensors.limits)
        return SystemConditions(self.limits, sensors, self.clock_s)

    def note_end(self, end: int) -> None:
        """Take in how many records coincide.detections has had."""
        if self._end is not None and end > self._end and self._waits_since_s is None:
            self._waits_since_s = self.clock_s()
        self._end = end

    def note_status(self, written_at_s: float) -> None:
        """Take in that fusion has finished a batch."""
        self.sensors.note_listening(written_at_s)
        self._batch_at_us = max(self._batch_at_us, round(written_at_s * 1e6))
        if self._waits_since_s is not None and written_at_s >= self._waits_since_s:
            self._waits_since_s = None

    def note_dead_letters(self, written_at_s: Iterable[float]) -> None:
        """Take in when dead letters were written; those of long ago are history."""
        most = self.limits.dead_letters_per_minute
        if most is None:
            return
        self._dead_letters.extend(written_at_s)
        while self._dead_letters and (
            len(self._dead_letters) > most + 1 or self._dead_letters[0] < self.clock_s() - MINUTE_S
        ):
            self._dead_letters.popleft()

    def forget_dead_letters(self) -> None:
        """Count anew: those of the last minute will be read again."""
        self._dead_letters.clear()
        self._has_read_letters = False

    def note_unread_letters(self, letters: int) -> None:
        """Take in how many dead letters are on Kafka and were not taken in yet."""
        self._has_read_letters = not letters

    def steps(self, connection: Connection, now_us: int) -> list[Step]:
        """Return the steps by which system alerts become what is wrong now."""
        active = alert_rows.read_active(connection, SHOWN_AT_MOST, kind="system")
        of_sensors = self.sensors.present(active, self.clock_s())
        told = {each.source: each for each in active}
        return steps_to(connection, active, [*self._present(connection, told), *of_sensors], now_us)

    def _present(self, connection: Connection, told: Mapping[str, Alert]) -> list[SystemCondition]:
        shards = read_status(connection)
        self._note_detections(sum(shard.totals.detections for shard in shards))
        return [
            *self._suspended(connection, shards),
            *self._line_stalled(told.get("line_stalled")),
            *self._dead_letter_flood(told.get("dead_letter_flood")),
            *self._no_detections(told.get("no_detections")),
        ]

    def _note_detections(self, detections: int) -> None:
        if detections != self._detections:
            self._detections, self._detected_at_s = detections, self.clock_s()

    def _suspended(self, connection: Connection, shards: Sequence[StatusRecord]) -> Iterator[SystemCondition]:
        if not any(status.suspended for shard in shards for status in shard.queries.values()):
            return
        for query in read_queries(connection):
            for each in QueryReport.of(shards, query.id).suspended[:SHOWN_AT_MOST]:
                if each["version"] != query.version:
                    continue
                area = "" if each["everywhere"] else each["area"] or ""
                where = f"in {area}" if area else "everywhere"
                yield SystemCondition(
                    "query_suspended",
                    f"The query {query.id} is suspended {where}",
                    f"{_broken(each)} It gives no more matches there until somebody changes or resumes it.",
                    each["received_at_us"],
                    query=query.id,
                    area=area,
                )

    def _line_stalled(self, told: Alert | None) -> Iterator[SystemCondition]:
        since_s, limit_s, revision = self._waits_since_s, self.limits.line_stalled_s, self._batch_at_us
        if limit_s is None:
            return
        if told is not None and revision <= told.revision:  # only a batch ends it, also after a restart
            yield SystemCondition.of(told)
        elif since_s is not None and self.clock_s() - since_s > limit_s:
            title, since_us = "The fusion job has stalled", round(since_s * 1e6)
            text = "Detections arrive, but the fusion job has finished no batch since then: no match is found."
            yield SystemCondition("line_stalled", title, text, since_us, revision=revision)

    def _dead_letter_flood(self, told: Alert | None) -> Iterator[SystemCondition]:
        self.note_dead_letters([])
        most = self.limits.dead_letters_per_minute
        if most is None:
            return
        if told is not None and not self._has_read_letters:  # only who knows them all can say that it is over
            yield SystemCondition.of(told)
        elif len(self._dead_letters) > most:
            text = f"More than {most} detections were refused, or came too late, within a minute."
            since_us = round(self._dead_letters[0] * 1e6)
            yield SystemCondition("dead_letter_flood", "Many detections are dead letters", text, since_us, "warning")

    def _no_detections(self, told: Alert | None) -> Iterator[SystemCondition]:
        limit_s, detections = self.limits.no_detections_s, self._detections
        if limit_s is None or not detections:
            return
        if told is not None and told.revision == detections:  # only a detection ends it, also after a restart
            yield SystemCondition.of(told)
        elif self.clock_s() - self._detected_at_s > limit_s:
            title, since_us = "There are no detections at all", round((self._detected_at_s + limit_s) * 1e6)
            text = f"No sensor has reported anything for {in_words(limit_s)}."
            yield SystemCondition("no_detections", title, text, since_us, "warning", revision=detections)


def _broken(suspension: Mapping[str, Any]) -> str:
    """Return what a query did to be suspended, as a sentence."""
    if suspension["allowed"] is None:
        return f"It needed more {suspension['limit']} than there was."
    allowed, reached = _figure(suspension["allowed"]), _figure(suspension["reached"])
    return f"It broke {suspension['limit']}: {allowed} allowed, {reached} reached."


def _figure(value: object) -> str:
    """Return a number for people: a count in full, anything measured to three digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
