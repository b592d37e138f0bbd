"""The lease: of all processes on one database one writes and tells receivers, and another does when that one is gone.

A lock decides who that is. Each time that the lease changes hands a term begins, and its name stands in the database.
A transaction of the writer asks for that name after it has taken the lock under which all write. So a process that was
suspended, and goes on when another has taken over, writes nothing.
"""

import logging
import threading
import time
import uuid
from collections.abc import Callable

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from services.alerting.leadership.election import Lock, lock_of
from services.alerting.store.dialect import fenced, for_writing, upsert
from services.alerting.store.tables import leases

LOOKED_AT_EVERY_S = 0.5
WRITING = "writing"
PRESENT_TERM = select(leases.c.holder).where(leases.c.name == WRITING)  # to make it takes longer than to run it

logger = logging.getLogger(__name__)


class LeaseLostError(Exception):
    """Another process writes the database now; nothing was written."""


def running_clock_s() -> float:
    """Return a time that also goes on while this process, or the whole machine, is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Lease(threading.Thread):
    """Takes the lease when it is free, and keeps it until stopped; `term` names the term in which it is held.

    One thread writes: it begins by `enter`, and by the engine `writer`.
    """

    def __init__(
        self, engine: Engine, clock_s: Callable[[], float] = running_clock_s, lock: Lock | None = None
    ) -> None:
        super().__init__(name="lease", daemon=True)
        self._engine, self._clock_s = for_writing(engine), clock_s
        self._lock = lock or lock_of(engine)
        self._last_term, self._entered = "", ""
        self._held_until_s = float("-inf")
        self._stopping = threading.Event()
        self.term: str | None = None  # None: this process does not hold it, for all it knows
        self.is_elsewhere = False  # whether another process was seen to hold it
        self.writer = fenced(engine, self._refuse_unless_entered)

    def is_held(self, term: str | None) -> bool:
        """Whether `term` lasts for sure; ask right before each act, beside writing, that only the holder may do."""
        return term is not None and term == self.term and self._clock_s() < self._held_until_s

    def enter(self) -> str | None:
        """Return the term in which `writer` writes from now on; None: it is not this process that writes."""
        term = self.term
        self._entered = term or ""
        return term

    def run(self) -> None:
        """Look until stopped, whatever fails."""
        fault = ""
        while not self._stopping.is_set():
            try:
                self.look()
                fault = ""
            except (SQLAlchemyError, OSError) as error:
                self.term, self.is_elsewhere = None, False
                if str(error) != fault:  # not twice a second
                    logger.warning("the lease cannot be looked at", extra={"fault": str(error)})
                fault = str(error)
            self._stopping.wait(LOOKED_AT_EVERY_S)

    def stop(self, timeout_s: float = 10.0) -> None:
        """Give it back, so that another takes it at once."""
        self._stopping.set()
        if self.is_alive():
            self.join(timeout_s)
        self.term = None
        self._lock.release()

    def look(self) -> None:
        """Take the lease if it is free, and keep it if it is held; raises where the database did not answer."""
        begun_s = self._clock_s()
        if not self._lock.is_mine():
            if not self.is_elsewhere:
                logger.info("another process writes the database: this one stands by")
            self.term, self.is_elsewhere = None, True
            return
        self._held_until_s = begun_s + self._lock.held_for_s
        self.term, self.is_elsewhere = self.term or self._begun_term(), False

    def _begun_term(self) -> str:
        """Return a new term, or the last one of this process if nobody has written since."""
        with self._engine.begin() as connection:  # whoever wrote before has ended
            before = connection.execute(select(leases).where(leases.c.name == WRITING)).first()
            if before is None or before.holder != self._last_term:
                self._last_term, renewals = uuid.uuid4().hex, 0 if before is None else before.renewals + 1
                row = {"name": WRITING, "holder": self._last_term, "renewals": renewals}
                connection.execute(upsert(connection, leases), row)
        logger.info("this process writes the database, and tells receivers")
        return self._last_term

    def _refuse_unless_entered(self, connection: Connection) -> None:
        if _present_term(connection) != self._entered:
            raise LeaseLostError("another process writes the database")


def _present_term(connection: Connection) -> str | None:
    return connection.execute(PRESENT_TERM).scalar()
