"""The supervisor: restarts, delays, and the end."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from spark_jobs.job.restarts import Backoff, Liveliness, keep_running


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
    assert reasons[1] == "the sink died"  # why the query ended is what readiness says


def test_a_query_that_had_lived_starts_the_delays_over(stopping: RecordedWaits) -> None:
    liveliness = Liveliness(60)

    def lived() -> FakeQuery:
        if len(stopping.delays_s) == 3:
            stopping.set()
        liveliness.saw()
        return FakeQuery(0)

    keep_running(starts(OSError(), OSError(), then=lived), liveliness, Backoff(1, 30), stopping)
    assert stopping.delays_s[:3] == [1, 2, 1]


def test_a_fatal_error_is_raised(stopping: RecordedWaits) -> None:
    with pytest.raises(LookupError, match="lost"):
        keep_running(starts(LookupError("lost"), then=never), Liveliness(60), Backoff(1, 2), stopping, (LookupError,))


def test_an_end_that_makes_trying_again_vain_is_raised(stopping: RecordedWaits) -> None:
    def refuse(error: Exception) -> None:
        if str(error) == "beyond repair":
            raise LookupError("give up") from error

    failures = (FakeQuery(0, OSError("for now")), FakeQuery(0, OSError("beyond repair")))
    with pytest.raises(LookupError, match="give up"):
        keep_running(starts(*failures, then=never), Liveliness(60), Backoff(1, 2), stopping, raise_if_in_vain=refuse)
    assert stopping.delays_s == [1]


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
