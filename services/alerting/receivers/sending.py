"""Sending: a worker for each receiver works off its part of the outbox, in order, and nobody waits for another.

What became of a delivery goes to Kafka and comes back into the database from there. Until it has come back, the worker
remembers it. A worker that is killed between the answer and that record sends once more, under the same key.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from services.alerting.leadership.lease import Lease
from services.alerting.metrics import Metrics
from services.alerting.receivers.alertmanager import AlertmanagerSender
from services.alerting.receivers.connections import DeliveryError, MakePoster, Poster
from services.alerting.receivers.people import PeopleSender
from services.alerting.receivers.webhook import WebhookSender
from services.alerting.records.alert import Alert
from services.alerting.records.receiver import Receiver, Receivers
from services.alerting.records.records import TOPICS
from services.alerting.settings import AlertingSettings
from services.alerting.store import alert_rows, delivery_rows
from services.alerting.store.delivery_rows import DeliveryRecord, DeliveryState, Waiting, encode_delivery
from services.common.clock import system_clock_us
from services.common.log.faults import LogError
from services.common.topics.record_publisher import RecordPublisher

AT_ONCE = 50
IDLE_S = 2.0  # a worker is woken when there is something; so long it waits if nobody wakes it
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
MOST_UNSETTLED = 500
REPOSTED_AT_MOST = 10_000
STOP_WITHIN_S = 3.0

logger = logging.getLogger(__name__)

#: Lets a worker rest so many seconds after a failure, unless the event comes first.
Rest = Callable[[threading.Event, float], object]


class Sender(Protocol):
    """One way to tell one receiver."""

    def send(self, waiting: Waiting) -> None:
        """Tell it; a `DeliveryError` where it was not taken."""

    def close(self) -> None:
        """Let go of what it holds."""


SENDERS: Mapping[str, Callable[[Any, MakePoster], Sender]] = {
    "webhook": WebhookSender,
    "alertmanager": AlertmanagerSender,
    "people": PeopleSender,
}


def sender_of(receiver: Receiver, *, may_be_private: bool) -> Sender:
    """Return what tells this receiver."""
    make_poster = partial(Poster, may_be_private=may_be_private or receiver.is_declared)
    return SENDERS[receiver.way_name](receiver.way, make_poster)


class Worker(threading.Thread):
    """Tells one receiver, one delivery after the other: the next one's turn comes when one was taken, or is dead."""

    def __init__(
        self,
        receiver: Receiver,
        sender: Sender,
        engine: Engine,
        publisher: RecordPublisher,
        metrics: Metrics,
        deliver_within_s: float,
        may_tell: Callable[[], bool],
        rest: Rest,
    ) -> None:
        super().__init__(name=f"receiver-{receiver.id}", daemon=True)
        self.receiver = receiver
        self._sender, self._engine, self._publisher, self._metrics = sender, engine, publisher, metrics
        self._deliver_within_s = deliver_within_s
        self._may_tell, self._rest = may_tell, rest
        self._settled: dict[str, DeliveryRecord] = {}  # what is not read back yet
        self._unpublished: list[DeliveryRecord] = []
        self._attempts: dict[str, int] = {}
        self._pause_s = 0.0
        self._repost_at_s = 0.0
        self._woken, self._stopping = threading.Event(), threading.Event()

    def wake(self) -> None:
        """Look into the outbox now."""
        self._woken.set()

    def stop(self) -> None:
        """End after the delivery in hand."""
        self._stopping.set()
        self._woken.set()

    def run(self) -> None:
        """Work until stopped, whatever fails."""
        while not self._stopping.is_set():
            self._woken.clear()
            try:
                self._publish()
                worked = self._work()
                self._repost_if_due()
            except SQLAlchemyError as error:
                logger.warning("the outbox cannot be read", extra={"receiver": self.receiver.id, "fault": str(error)})
                worked = False
            except Exception:
                logger.exception("a worker failed", extra={"receiver": self.receiver.id})
                worked = False
            if self._pause_s:  # the receiver failed: nothing that is new makes it well
                self._rest(self._stopping, self._pause_s)
            elif not worked:
                self._woken.wait(min(IDLE_S, max(0.05, self._repost_at_s - time.monotonic())))
        self._publish()
        self._sender.close()

    def _work(self) -> bool:
        """Send what waits, until there is nothing or the receiver fails; return whether there was anything."""
        with self._engine.connect() as connection:
            if self._settled:
                kept = delivery_rows.still_waiting(connection, self.receiver.id, list(self._settled))
                kept |= {each.key for each in self._unpublished}
                self._settled = {key: each for key, each in self._settled.items() if key in kept}
            if len(self._settled) >= MOST_UNSETTLED or not self._may_tell():
                return False
            work = delivery_rows.read_waiting(connection, self.receiver.id, list(self._settled), AT_ONCE)
        for waiting in work:
            if self._stopping.is_set() or not self._may_tell() or not self._tell(waiting):
                break
        return bool(work)

    def _tell(self, waiting: Waiting) -> bool:
        """Try one delivery; return whether the next one's turn has come."""
        self._attempts[waiting.key] = attempts = self._attempts.get(waiting.key, 0) + 1
        try:
            self._sender.send(waiting)
        except DeliveryError as error:
            self._metrics.deliveries.labels(self.receiver.id, "failed").inc()
            is_late = system_clock_us() - waiting.since_us > self._deliver_within_s * 1e6
            if error.is_final or is_late:
                self._settle(waiting, "dead", f"{error.reason}, after {attempts} attempts")
                return True
            self._pause_s = max(pause_s(attempts), error.retry_after_s)
            logger.info("a receiver was not told", extra={"receiver": self.receiver.id, "fault": error.reason})
            return False
        self._pause_s = 0.0
        self._metrics.delivery_delay.labels(self.receiver.id).observe((system_clock_us() - waiting.since_us) / 1e6)
        self._settle(waiting, "delivered")
        return True

    def _settle(self, waiting: Waiting, state: DeliveryState, reason: str | None = None) -> None:
        self._metrics.deliveries.labels(self.receiver.id, state).inc()
        self._pause_s = 0.0
        attempts = self._attempts.pop(waiting.key, 1)
        of = waiting.alert.id, waiting.change, waiting.alert.revision
        record = DeliveryRecord(1, self.receiver.id, waiting.key, state, system_clock_us(), attempts, reason, *of)
        self._settled[waiting.key] = record
        self._unpublished.append(record)
        self._publish()

    def _publish(self) -> None:
        """Write down what became of deliveries; what the log does not take now is tried again before the next round."""
        try:
            while self._unpublished:
                record = self._unpublished[0]
                self._publisher.publish(TOPICS.deliveries, record.topic_key, encode_delivery(record))
                self._unpublished.pop(0)
        except LogError as error:
            logger.warning("deliveries are not written down", extra={"fault": str(error)})

    def _repost_if_due(self) -> None:
        if not isinstance(self._sender, AlertmanagerSender):
            self._repost_at_s = time.monotonic() + IDLE_S
            return
        if time.monotonic() < self._repost_at_s or self._pause_s:
            return
        with self._engine.connect() as connection:
            active = alert_rows.read_active(connection, REPOSTED_AT_MOST)
        if not self._may_tell():
            return
        mine = [each for each in active if each.withheld is None and self._is_for_me(each)]
        self._repost_at_s = time.monotonic() + self._sender.repost_s
        try:
            self._sender.repost(mine)
        except DeliveryError as error:
            self._repost_at_s = time.monotonic() + min(self._sender.repost_s, 10.0)
            logger.info("alerts were not posted again", extra={"receiver": self.receiver.id, "fault": error.reason})

    def _is_for_me(self, alert: Alert) -> bool:
        if alert.to is not None:
            return self.receiver.id in alert.to
        return self.receiver.system or not alert.is_of_system


def pause_s(attempts: int) -> float:
    """Return how long to wait after so many attempts: doubled each time, up to a minute, and half of it by chance."""
    longest_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempts - 1, 20))
    return longest_s * (0.5 + 0.5 * random.random())  # noqa: S311 - so that many do not come back at once


class Sending:
    """The workers of all receivers; `wake` follows the receivers as they change.

    `may_tell` says whether this process, of several, is the one that tells now; it is asked right before each delivery.
    """

    def __init__(
        self,
        receivers: Receivers,
        engine: Engine,
        publisher: RecordPublisher,
        metrics: Metrics,
        *,
        deliver_within_s: float,
        may_be_private: bool,
        may_tell: Callable[[], bool],
        rest: Rest = threading.Event.wait,
    ) -> None:
        self._receivers = receivers
        self._parts = engine, publisher, metrics, deliver_within_s, may_tell, rest
        self._may_be_private = may_be_private
        self._workers: dict[str, Worker] = {}
        self._lock = threading.Lock()
        self._has_begun = False

    def begin(self) -> None:
        """Start to send, while this process may: what was delivered before is known now."""
        self._has_begun = True
        self.wake()

    def wake(self) -> None:
        """Let every worker look into the outbox, after the receivers' workers are those of the receivers there are."""
        if not self._has_begun:
            return
        with self._lock:
            self._refresh()
            for worker in self._workers.values():
                worker.wake()

    def _refresh(self) -> None:
        wanted = {each.id: each for each in self._receivers.all()}
        for id_, worker in list(self._workers.items()):
            if wanted.get(id_) != worker.receiver:
                worker.stop()
                del self._workers[id_]
        for id_ in wanted.keys() - self._workers.keys():
            receiver = wanted[id_]
            sender = sender_of(receiver, may_be_private=self._may_be_private)
            self._workers[id_] = Worker(receiver, sender, *self._parts)
            self._workers[id_].start()

    def stop(self) -> None:
        """End every worker, waiting a moment for deliveries in hand."""
        with self._lock:
            self._has_begun = False
            workers = list(self._workers.values())
            self._workers.clear()
        for worker in workers:
            worker.stop()
        deadline_s = time.monotonic() + STOP_WITHIN_S
        for worker in workers:
            worker.join(max(0.0, deadline_s - time.monotonic()))


class Telling:
    """Sending, while this process is the one that tells: it holds the lease, and knows who has heard what."""

    def __init__(
        self,
        settings: AlertingSettings,
        engine: Engine,
        receivers: Receivers,
        outcomes: RecordPublisher,
        metrics: Metrics,
        lease: Lease,
    ) -> None:
        self._term: str | None = None
        self._sending = Sending(
            receivers,
            engine,
            outcomes,
            metrics,
            deliver_within_s=settings.deliver_within_s,
            may_be_private=settings.receivers_may_be_private,
            may_tell=lambda: lease.is_held(self._term),
        )
        metrics.tells.set_function(lambda: lease.is_held(self._term))

    def begin(self, term: str) -> None:
        """Tell as long as this term lasts, now that it is known who has heard what; to begin again does nothing."""
        self._term = term
        self._sending.begin()

    def pause(self) -> None:
        """Tell nobody until `begin`: another process does."""
        self._term = None
        self._sending.stop()

    def wake(self) -> None:
        """Look into the outbox now, and whether the receivers are still the same."""
        self._sending.wake()

    def stop(self) -> None:
        """End, waiting a moment for deliveries in hand."""
        self._sending.stop()
