"""The supervisor: restarts, delays, and the end."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.common.backoff import Backoff
from services.common.engine.fusion_settings import FusionSettings
from spark_jobs.job.restarts import KAFKA_AWAY, POLL_S, QUERY_ENDED, Liveliness, keep_running
from spark_jobs.job.session import spark_properties
from spark_jobs.recovery.halt import Halt


@dataclass
class FakeQuery:
    polls: int
    error: Exception | None = None

    @property
    def isActive(self) -> bool:  # noqa: N802
        self.polls -= 1
        return self.polls >= 0

    def exception(self) -> Exception | None:
        return self.error


class RecordedWaits(threading.Event):
    """An event whose waits take no time, and are written down unless they are polls of a running query."""

    def __init__(self) -> None:
        super().__init__()
        self.delays_s: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is not None and timeout >= 1:
            self.delays_s.append(timeout)
        return self.is_set()


@pytest.fixture
def stopping() -> RecordedWaits:
    return RecordedWaits()


def starts(*outcomes: FakeQuery | Exception, then: Callable[[], FakeQuery]) -> Callable[[], FakeQuery]:
    left = iter(outcomes)

    def start() -> FakeQuery:
        outcome = next(left, None) or then()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return start


def never() -> FakeQuery:
    raise AssertionError("started")


def test_delays_double_up_to_the_longest(stopping: RecordedWaits) -> None:
    running = FakeQuery(10)

    def last() -> FakeQuery:
        stopping.set()
        return running

    away = OSError("no broker")
    died = FakeQuery(0, RuntimeError("the sink died\nat java.lang.Thread"))
    failures: list[FakeQuery | Exception] = [away, died, away, away]
    liveliness, reasons = Liveliness(60), list[str | None]()
    query = keep_running(
        starts(*failures, then=last),
        liveliness,
        Backoff(1, 5),
        stopping,
        on_restart=lambda: reasons.append(liveliness.why_not_ready()),
    )
    assert query is running
    assert stopping.delays_s == [1, 2, 4, 5]
    assert len(reasons) == 4
    assert set(reasons) == {QUERY_ENDED}


def test_why_the_query_ended_is_for_the_log_and_not_for_whoever_asks(
    stopping: RecordedWaits, caplog: pytest.LogCaptureFixture
) -> None:
    liveliness, said = Liveliness(60), list[str | None]()

    def ask() -> None:
        said.append(liveliness.why_not_ready())
        stopping.set()

    lost = FileNotFoundError("/var/lib/coincide/My State/checkpoint/offsets/12 is gone")
    keep_running(starts(lost, then=never), liveliness, Backoff(1, 2), stopping, on_restart=ask)
    assert said == ["the query ended and is started again: the log says why"]
    assert "/var/lib/coincide/My State/checkpoint/offsets/12 is gone" in caplog.text


def test_a_hang_shows_within_ten_seconds_and_a_quiet_query_is_no_hang(tmp_path: Path) -> None:
    (tmp_path / "connector.jar").touch()
    settings = FusionSettings(jars_path=tmp_path)
    sign_of_life_ms = spark_properties(settings)["spark.sql.streaming.noDataProgressEventInterval"]
    assert 3 * float(sign_of_life_ms) / 1_000 < settings.stale_after_s < 10


def test_a_query_that_does_not_work_while_kafka_is_away_waits_for_kafka() -> None:
    away = [True]
    liveliness = Liveliness(60, kafka_is_away=lambda: away[0])
    assert liveliness.why_not_ready() == KAFKA_AWAY
    liveliness.saw()
    assert liveliness.why_not_ready() is None  # it may still work through what it has
    liveliness.halted(Halt("topic_missing", "gone"))
    assert liveliness.why_not_ready() == "halted: gone: create the topics that are declared"
    liveliness.away("the query ended")
    liveliness.released()
    away[0] = False
    assert liveliness.why_not_ready() == "the query ended"


def test_a_query_that_had_lived_starts_the_delays_over(stopping: RecordedWaits) -> None:
    liveliness = Liveliness(60)

    def lived() -> FakeQuery:
        if len(stopping.delays_s) == 3:
            stopping.set()
        liveliness.saw()
        return FakeQuery(0, OSError())

    keep_running(starts(OSError(), OSError(), then=lived), liveliness, Backoff(1, 30), stopping)
    assert stopping.delays_s[:3] == [1, 2, 1]


def test_one_that_was_done_is_no_failure_unless_it_never_lived(stopping: RecordedWaits) -> None:
    liveliness, restarts, left = Liveliness(60), list[str | None](), ["caught up", "caught up", "never lived"]

    def start() -> FakeQuery:
        if not left:
            stopping.set()
        if not left or left.pop(0) == "caught up":
            liveliness.saw()
        return FakeQuery(0)

    def on_restart() -> None:
        restarts.append(liveliness.why_not_ready())

    keep_running(start, liveliness, Backoff(1, 30), stopping, on_restart=on_restart)
    assert restarts == [QUERY_ENDED]
    assert stopping.delays_s == [1]


def test_a_fatal_error_is_raised(stopping: RecordedWaits) -> None:
    with pytest.raises(LookupError, match="lost"):
        keep_running(starts(LookupError("lost"), then=never), Liveliness(60), Backoff(1, 2), stopping, (LookupError,))


def test_a_halt_lasts_until_a_person_has_done_something_and_the_query_lives(stopping: RecordedWaits) -> None:
    liveliness, said = Liveliness(60), list[str | None]()
    damaged = Halt("checkpoint_damaged", "it is damaged", "/var/lib/coincide/checkpoint")

    def is_released() -> bool:
        said.append(liveliness.why_not_ready())
        return len(said) == 3

    def start() -> FakeQuery:
        said.append(liveliness.why_not_ready())
        if len(said) < 4:
            return FakeQuery(0, damaged)
        liveliness.saw()
        said.append(liveliness.why_not_ready())
        stopping.set()
        return FakeQuery(1)

    restarts: list[None] = []
    keep_running(
        start, liveliness, Backoff(1, 30), stopping, on_restart=lambda: restarts.append(None), is_released=is_released
    )
    sentence = "halted: it is damaged: put a whole one back, or rebuild"
    assert said[0] == "the query was started 0 s ago and has not finished its first batch"
    assert said[1:] == [sentence, sentence, sentence, None]
    assert (restarts, stopping.delays_s) == ([], [])


def test_a_halt_is_looked_at_again_for_its_cause_may_be_gone(stopping: RecordedWaits) -> None:
    liveliness = Liveliness(60)
    polls = 0

    def is_released() -> bool:
        nonlocal polls
        polls += 1
        return False

    def then() -> FakeQuery:
        stopping.set()
        return FakeQuery(1)

    keep_running(
        starts(Halt("topic_missing", "gone"), then=then), liveliness, Backoff(1, 30), stopping, is_released=is_released
    )
    assert 30 / POLL_S <= polls <= 30 / POLL_S + 2
    assert liveliness.halt is not None  # it was started, and has shown no sign of life
    liveliness.released()
    assert liveliness.halt is None


def test_a_halt_is_logged_once_however_often_it_is_looked_at(
    stopping: RecordedWaits, caplog: pytest.LogCaptureFixture
) -> None:
    gone, replaced = Halt("topic_missing", "gone"), Halt("topic_replaced", "another", "found 3")

    def then() -> FakeQuery:
        stopping.set()
        return FakeQuery(1)

    outcomes = starts(gone, gone, gone, replaced, replaced, then=then)
    keep_running(outcomes, Liveliness(60), Backoff(1, 1), stopping)
    assert caplog.messages == [f"halted: {gone}", f"halted: {replaced} (found 3)"]


def test_a_query_that_is_ended_for_another_is_no_failure(stopping: RecordedWaits) -> None:
    liveliness, asked = Liveliness(60), [False, True]

    def last() -> FakeQuery:
        stopping.set()
        return FakeQuery(10)

    restarts: list[None] = []
    ended = FakeQuery(10)
    query = keep_running(
        starts(ended, then=last),
        liveliness,
        Backoff(1, 30),
        stopping,
        on_restart=lambda: restarts.append(None),
        is_ended=lambda query: query is ended and asked.pop(0),
    )
    assert query is not ended
    assert (restarts, stopping.delays_s, asked) == ([], [], [])


def test_nothing_is_started_once_stopping(stopping: RecordedWaits) -> None:
    stopping.set()
    assert keep_running(never, Liveliness(60), Backoff(1, 2), stopping) is None


def test_liveliness_ages() -> None:
    now_s = [100.0]
    liveliness = Liveliness(60, clock_s=lambda: now_s[0])
    assert liveliness.why_not_ready() == "the query has not been started yet"
    liveliness.started()
    now_s[0] = 230.0
    assert liveliness.why_not_ready() == "the query was started 130 s ago and has not finished its first batch"
    now_s[0] = 100.0
    liveliness.saw()
    now_s[0] = 160.0
    assert liveliness.why_not_ready() is None
    now_s[0] = 161.0
    assert liveliness.why_not_ready() == "the query has shown no sign of life for 61 s"
    liveliness.started()
    liveliness.in_bulk()
    liveliness.saw()
    now_s[0] = 161.0 + 600
    assert liveliness.why_not_ready() is None
    now_s[0] += 1
    assert liveliness.why_not_ready() == "the query has shown no sign of life for 601 s"
    liveliness.started()
    liveliness.saw()
    now_s[0] += 61
    assert liveliness.why_not_ready() is not None
