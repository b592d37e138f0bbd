import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import ClassVar

import pytest
from sqlalchemy import Engine, insert, select, update
from sqlalchemy.exc import DBAPIError, OperationalError

from services.alerting.leadership import election, lease
from services.alerting.leadership.election import HELD_S, lock_of
from services.alerting.leadership.lease import Lease, LeaseLostError
from services.alerting.store import dialect
from services.alerting.store.dialect import for_writing
from services.alerting.store.tables import leases, positions
from tests.patience import until
from tests.services.alerting.databases import ON_POSTGRESQL, Databases


class Clock:
    def __init__(self, now_s: float = 1e6) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s

    def go_on(self, seconds: float) -> None:
        self.now_s += seconds


class AnybodysLock:
    """A lock that the test gives to one process or another."""

    held_for_s: ClassVar[float] = HELD_S

    def __init__(self) -> None:
        self.is_free = True

    def is_mine(self) -> bool:
        return self.is_free

    def release(self) -> None:
        self.is_free = False


@pytest.fixture
def clock() -> Clock:
    return Clock()


MakeLease = Callable[..., Lease]


@pytest.fixture
def make(engine: Engine, clock: Clock) -> Iterator[MakeLease]:
    with ExitStack() as made:

        def make(lock: AnybodysLock | None = None) -> Lease:
            each = Lease(engine, clock, lock)
            made.callback(each.stop)
            return each

        yield make


def hold(*processes: Lease) -> list[bool]:
    """Which of these hold it now."""
    return [each.is_held(each.term) for each in processes]


def write(process: Lease) -> None:
    """Write something, as that process does that has the lease."""
    with process.writer.begin() as connection:
        row = {"topic": "t", "partition": 0, "topic_id": "", "next_offset": 0}
        connection.execute(dialect.upsert(connection, positions), row)


def test_one_holds_it_and_another_takes_it_once_it_is_given_back(make: MakeLease) -> None:
    holder, other = make(), make()
    for _ in range(3):
        holder.look()
        other.look()
        assert hold(holder, other) == [True, False]
        assert (holder.is_elsewhere, other.is_elsewhere) == (False, True)
    holder.stop()

    def is_taken() -> bool:  # a server needs a moment to notice that a session has ended
        other.look()
        return hold(holder, other) == [False, True]

    until(is_taken)


def test_only_who_holds_it_writes(make: MakeLease) -> None:
    holder, other = make(), make()
    holder.look()
    other.look()
    assert (holder.enter(), other.enter()) == (holder.term, None)
    write(holder)
    with pytest.raises(LeaseLostError):
        write(other)


def test_who_goes_on_after_another_has_taken_over_writes_nothing(make: MakeLease, engine: Engine) -> None:
    locks = AnybodysLock(), AnybodysLock()
    suspended, other = map(make, locks)
    suspended.look()
    suspended.enter()
    write(suspended)
    other.look()  # the server gave it away, and the suspended one has not looked since
    other.enter()
    with engine.connect() as connection:
        before = connection.execute(select(positions)).all()
    with pytest.raises(LeaseLostError):
        write(suspended)
    assert suspended.term is not None
    with engine.connect() as connection:
        assert connection.execute(select(positions)).all() == before
    write(other)
    for is_free in (False, True):  # it gets it back: what it had begun in the term before is refused all the same
        locks[0].is_free = is_free
        suspended.look()
    with pytest.raises(LeaseLostError):
        write(suspended)
    suspended.enter()
    write(suspended)


def test_a_term_goes_on_where_nobody_has_written_in_between(make: MakeLease) -> None:
    lock = AnybodysLock()
    holder = make(lock)
    holder.look()
    term = holder.enter()
    lock.is_free = False
    holder.look()
    assert (holder.term, holder.is_elsewhere) == (None, True)
    lock.is_free = True
    holder.look()
    assert holder.term == term
    write(holder)


@ON_POSTGRESQL
def test_it_counts_from_before_it_asked(make: MakeLease, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = make(AnybodysLock())

    def slowly(_: object) -> bool:
        clock.go_on(HELD_S)  # suspended, say
        return True

    holder.look()
    assert hold(holder) == [True]
    monkeypatch.setattr(AnybodysLock, "is_mine", slowly)
    holder.look()
    assert hold(holder) == [False]


@ON_POSTGRESQL
def test_the_server_ends_the_lock_of_a_process_that_says_nothing(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(election, "LOST_AFTER_S", 0.2)
    silent, other = lock_of(engine), lock_of(engine)
    assert silent.is_mine()
    monkeypatch.setattr(election, "LOST_AFTER_S", 60.0)
    until(other.is_mine)
    with pytest.raises(DBAPIError):
        silent.is_mine()  # it goes on
    assert not silent.is_mine()
    other.release()
    until(silent.is_mine)
    silent.release()


def test_a_process_counts_on_it_for_less_long_than_others_wait() -> None:
    assert HELD_S * 1.25 < election.LOST_AFTER_S  # clocks may differ in pace by a quarter


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LOOKED_AT_EVERY_S", 0.02)


@ON_POSTGRESQL
@pytest.mark.usefixtures("_hasty")
def test_a_database_that_does_not_answer_ends_it_and_it_is_taken_again(
    make: MakeLease, engine: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    holder = make()
    holder.start()
    until(lambda: holder.term is not None)
    with engine.begin() as connection:
        leases.drop(connection)
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        connection.exec_driver_sql(f"{others} AND pid <> pg_backend_pid()")
    until(lambda: "cannot be looked at" in caplog.text and holder.term is None)
    assert not holder.is_elsewhere
    with engine.begin() as connection:
        leases.create(connection)
    until(lambda: holder.term is not None)


def test_the_clock_goes_on_as_the_machines_does() -> None:
    before_s = lease.running_clock_s()
    threading.Event().wait(0.01)
    assert lease.running_clock_s() - before_s >= 0.01


@pytest.fixture
def counted(engine: Engine) -> Engine:
    with engine.begin() as connection:
        connection.execute(insert(positions), {"topic": "t", "partition": 0, "topic_id": "", "next_offset": 0})
    return engine


def count_up(engine: Engine) -> None:
    with engine.begin() as connection:
        count = connection.execute(select(positions.c.next_offset)).scalar_one()
        connection.execute(update(positions).values(next_offset=count + 1))


def test_those_who_read_and_then_write_wait_for_each_other(counted: Engine) -> None:
    with ThreadPoolExecutor(4) as processes:
        assert list(processes.map(count_up, [for_writing(counted)] * 200)) == [None] * 200
    with counted.connect() as connection:
        assert connection.execute(select(positions.c.next_offset)).scalar_one() == 200


def test_who_only_reads_waits_for_nobody(counted: Engine, databases: Databases) -> None:
    hasty = databases.open(counted.url.render_as_string(hide_password=False), busy_timeout_ms=1)
    with for_writing(counted).begin() as writing, hasty.begin() as reading:
        writing.execute(update(positions).values(next_offset=1))
        assert reading.execute(select(positions.c.next_offset)).scalar_one() == 0
        with pytest.raises(OperationalError), for_writing(hasty).begin():
            pass
    with hasty.connect() as reading:
        assert reading.execute(select(positions.c.next_offset)).scalar_one() == 1


@ON_POSTGRESQL
def test_who_hangs_in_the_midst_of_writing_holds_up_nobody_for_long(
    counted: Engine, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialect, "LOST_AFTER_MS", 50)
    hanging = databases.open(counted.url.render_as_string(hide_password=False))
    with for_writing(hanging).connect() as connection:
        connection.execute(update(positions).values(next_offset=7))
        count_up(for_writing(counted))  # waits until the server has given up the other
        with pytest.raises(DBAPIError):
            connection.commit()
    with counted.connect() as connection:
        assert connection.execute(select(positions.c.next_offset)).scalar_one() == 1
