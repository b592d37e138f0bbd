import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from services.alerting.receivers import sending
from services.alerting.records.receiver import Receiver
from services.alerting.store.delivery_rows import DeliveryRecord, count_waiting, encode_delivery, read_waiting
from services.common.clock import system_clock_us
from tests.integration.webhook_sink import SECRET, Sink, running_sink
from tests.patience import until
from tests.services.alerting.receivers.outbox import outcomes, running_outbox
from tests.services.alerting.sample_records import Database


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as sink:
        yield sink


def hook(sink: Sink, id_: str = "ops", timeout_s: float = 5) -> Receiver:
    return Receiver.model_validate({"id": id_, "webhook": {"url": sink.url, "secret": SECRET, "timeout_s": timeout_s}})


def sources(sink: Sink) -> list[str]:
    return [event["data"]["source"] for event in sink.events]


def test_a_receiver_that_fails_is_told_in_order_once_it_is_well(database: Database, sink: Sink) -> None:
    sink.status = 500
    with running_outbox(database, hook(sink)) as outbox:
        outbox.fire("e-0", "e-1", "e-2")
        until(lambda: len(sink.tried) >= 3)
        assert len(set(sink.tried)) == 1  # the first one's turn lasts until it is told
        sink.status = 204
        until(lambda: len(sink.events) == 3)
        assert sources(sink) == ["e-0", "e-1", "e-2"]
        assert len(set(sink.tried)) == 3
        until(lambda: len(outbox.kafka.records) == 3)
        outbox.read_back()
        assert database.read(count_waiting, "ops") == 0
    assert sink.faults == []


def test_how_long_a_receiver_waited_is_told_in_seconds(
    database: Database, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever tells has a clock that is 20 s ahead of the one that stored the transition; nobody waits here else."""
    monkeypatch.setattr(sending, "system_clock_us", lambda: system_clock_us() + 20_000_000)
    with running_outbox(database, hook(sink)) as outbox:
        outbox.fire("e-0", "e-1")
        until(lambda: outcomes(outbox, "ops", "delivered") == 2)
    assert database.count("delivery_delay_seconds_count", receiver="ops") == 2
    waited_s = database.count("delivery_delay_seconds_sum", receiver="ops") / 2
    assert 20 <= waited_s < 200


@pytest.mark.parametrize(("later_s", "outcome"), [(3_600, "failed"), (7_201, "dead")])
def test_a_receiver_that_fails_is_tried_again_for_as_long_as_is_set(
    database: Database, sink: Sink, monkeypatch: pytest.MonkeyPatch, later_s: int, outcome: str
) -> None:
    monkeypatch.setattr(sending, "system_clock_us", lambda: system_clock_us() + later_s * 1_000_000)
    sink.status = 500
    with running_outbox(database, hook(sink), deliver_within_s=7_200.0) as outbox:
        outbox.fire("e-0")
        until(lambda: outcomes(outbox, "ops", outcome) >= 1)
        until(lambda: len(sink.tried) >= 2 or outcome == "dead")
        assert outcomes(outbox, "ops", "dead") == (outcome == "dead")


def test_nobody_waits_for_a_receiver_that_hangs(database: Database, sink: Sink) -> None:
    with running_sink() as stuck:
        stuck.hangs.set()
        with running_outbox(database, hook(stuck, "stuck", 60), hook(sink)) as outbox:
            outbox.fire(*(f"e-{n}" for n in range(20)))
            until(lambda: len(sink.events) == 20)
            until(lambda: len(stuck.tried) == 1)  # and it hangs still
            stuck.hangs.clear()
            stuck.released.set()
            until(lambda: len(stuck.events) == 20)
            assert sources(stuck) == sources(sink)


def test_one_that_hangs_is_given_up_and_tried_again(database: Database, sink: Sink) -> None:
    sink.hangs.set()
    with running_outbox(database, hook(sink, timeout_s=0.1)) as outbox:
        outbox.fire("e-0")
        until(lambda: outcomes(outbox, "ops", "failed") >= 2)
        sink.hangs.clear()
        until(lambda: {*sources(sink)} == {"e-0"})  # perhaps twice: on a busy machine its answer may come too late


def test_one_that_nobody_listens_for_is_told_when_somebody_does(database: Database) -> None:
    with running_sink() as gone:
        port = gone.server_address[1]
    with running_outbox(database, hook(gone)) as outbox:
        outbox.fire("e-0")
        until(lambda: outcomes(outbox, "ops", "failed") >= 2)
        with running_sink(port) as back:
            until(lambda: sources(back) == ["e-0"])


@dataclass
class Minutes:
    """A clock that goes on by the pauses of a worker alone, and what happens when."""

    happens: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    now_s: float = 0.0
    pauses_s: list[float] = field(default_factory=list)

    def rest(self, _stopping: threading.Event, pause_s: float) -> None:
        self.pauses_s.append(pause_s)
        self.now_s += pause_s
        while self.happens and self.happens[0][0] <= self.now_s:
            _, happen = self.happens.pop(0)
            happen()


def test_one_that_is_away_for_minutes_is_told_in_order_a_minute_after_its_return(database: Database) -> None:
    with running_sink() as gone:
        port = gone.server_address[1]
    minutes, returned = Minutes(), list[Sink]()
    with ExitStack() as later, running_outbox(database, hook(gone), rest=minutes.rest) as outbox:
        minutes.happens += [
            (45, lambda: outbox.fire("e-1")),
            (90, lambda: outbox.fire("e-2")),
            (135, lambda: returned.append(later.enter_context(running_sink(port)))),
        ]
        outbox.fire("e-0")
        until(lambda: len(returned) == 1 and len(returned[0].events) == 3)
        [back] = returned
        assert sources(back) == ["e-0", "e-1", "e-2"]
        assert len(set(back.tried)) == len(back.tried) == 3
    assert 6 <= len(minutes.pauses_s) <= 12  # after 1, 2, 4 ... 60 s
    assert minutes.now_s <= 135 + sending.LONGEST_PAUSE_S


def test_a_redirect_is_refused(database: Database, sink: Sink) -> None:
    with running_sink() as elsewhere, running_outbox(database, hook(sink)) as outbox:
        sink.status, sink.headers_sent = 307, {"Location": elsewhere.url}
        outbox.fire("e-0")
        until(lambda: outcomes(outbox, "ops", "failed") >= 2)
        assert elsewhere.tried == []


@pytest.mark.parametrize(("status", "within_s"), [(400, 86_400.0), (410, 86_400.0), (500, 0.05)])
def test_what_will_never_be_taken_is_dead_with_its_reason_and_the_next_is_told(
    database: Database, sink: Sink, status: int, within_s: float
) -> None:
    sink.status = status
    with running_outbox(database, hook(sink), deliver_within_s=within_s) as outbox:
        outbox.fire("e-0")
        until(lambda: outcomes(outbox, "ops", "dead") == 1)
        sink.status = 204
        outbox.fire("e-1")
        until(lambda: sources(sink) == ["e-1"] and len(outbox.kafka.records) == 2)
        outbox.read_back()
        from services.alerting.store.delivery_rows import read_newest_first  # noqa: PLC0415

        told = {row.state: row.reason for row in database.read(read_newest_first, "ops", None, None, 10)}
        assert told["delivered"] is None
        assert told["dead"].startswith(f"answered {status}, after ")


def test_retry_after_is_heeded(database: Database, sink: Sink) -> None:
    sink.status, sink.headers_sent = 429, {"Retry-After": "1"}
    minutes = Minutes([(1.0, lambda: setattr(sink, "status", 204))])
    with running_outbox(database, hook(sink), rest=minutes.rest) as outbox:
        outbox.fire("e-0")
        until(lambda: len(sink.events) == 1)
    assert minutes.pauses_s == [1.0]


def test_while_kafka_is_away_nobody_is_told_twice(database: Database, sink: Sink) -> None:
    with running_outbox(database, hook(sink)) as outbox:
        outbox.kafka.is_away = True
        outbox.fire("e-0", "e-1")
        until(lambda: len(sink.events) == 2)
        outbox.fire("e-2")
        until(lambda: len(sink.events) == 3)
        outbox.kafka.is_away = False
        outbox.fire("e-3")
        until(lambda: len(outbox.kafka.records) == 4)
        outbox.read_back()
        outbox.fire("e-4")
        until(lambda: len(sink.events) == 5)
    assert len(set(sink.tried)) == len(sink.tried) == 5


def test_a_worker_that_dies_before_it_is_written_down_tells_again_under_the_same_key(
    database: Database, sink: Sink
) -> None:
    with running_outbox(database, hook(sink)) as outbox:
        outbox.kafka.is_away = True
        outbox.fire("e-0")
        until(lambda: len(sink.events) == 1)
    with running_outbox(database, hook(sink)) as outbox:
        until(lambda: len(sink.events) == 2)
    assert len(set(sink.tried)) == 1


def test_the_pause_grows_to_its_limit_and_is_never_the_same_for_all() -> None:
    pauses_s = [sending.pause_s(1000) for _ in range(100)]
    assert max(pauses_s) <= sending.LONGEST_PAUSE_S
    assert min(pauses_s) >= sending.LONGEST_PAUSE_S / 2
    assert len(set(pauses_s)) > 50
    assert sending.pause_s(1) <= sending.FIRST_PAUSE_S


def test_who_may_not_tell_tells_nobody_until_they_may(database: Database, sink: Sink) -> None:
    may_tell, asked = threading.Event(), threading.Semaphore(0)

    def ask() -> bool:
        asked.release()
        return may_tell.is_set()

    with running_outbox(database, hook(sink), may_tell=ask) as outbox:
        outbox.fire("e-0", "e-1")
        while asked.acquire(blocking=False):
            pass
        assert asked.acquire(timeout=10)  # it has looked since
        assert sink.tried == []
        told, _ = database.read(read_waiting, "ops", [], 10)
        outcome = DeliveryRecord(1, "ops", told.key, "delivered", system_clock_us(), 1)
        outbox.kafka.publish("deliveries", outcome.topic_key, encode_delivery(outcome))
        outbox.read_back()  # of what the other has told
        may_tell.set()
        outbox.sending.wake()
        until(lambda: sources(sink) == ["e-1"])


def test_who_may_tell_no_longer_leaves_the_rest_of_what_was_read(database: Database, sink: Sink) -> None:
    may_tell, ended = threading.Event(), threading.Event()
    may_tell.set()

    def end(event: dict[str, Any]) -> None:
        if event["data"]["source"] == "e-1" and not ended.is_set():
            may_tell.clear()
            ended.set()

    sink.on_event = end
    sink.status = 500
    with running_outbox(database, hook(sink), may_tell=may_tell.is_set) as outbox:
        outbox.fire(*(f"e-{n}" for n in range(5)))
        until(lambda: len(sink.tried) >= 2)  # so that all five are read at once
        sink.status = 204
        until(lambda: outcomes(outbox, "ops", "delivered") == 2)
        assert ended.is_set()
        outbox.read_back()
        outbox.sending.wake()
        assert database.read(count_waiting, "ops") == 3
        may_tell.set()
        until(lambda: len(sink.events) == 5)
        assert sources(sink) == [f"e-{n}" for n in range(5)]
