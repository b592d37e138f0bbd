"""QueryTurns: each query's turn in one push, and how a query that is too dear is suspended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from coincide.fusion.control.control import EVERYWHERE, InForce
from coincide.fusion.control.host import Host
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching.search_work import (
    RECORDS_AT_ONCE,
    ClockS,
    HeldTooMuchError,
    OutOfTimeError,
    PushTime,
    SupersededError,
)
from coincide.fusion.rows.areas import Areas
from coincide.joins.search.work import checked
from coincide.wire.status_record import Suspension

Answer = TypeVar("Answer")
Answers = Callable[[Callable[[], None]], Iterable[Answer]]
"""Yields the answers of one query; calls what it is given between blocks of work."""


@dataclass(frozen=True, eq=False)
class QueryTurns:
    """One push: the host that runs it, and the time that its queries have."""

    host: Host
    time: PushTime
    limits: Limits
    areas: Areas

    @classmethod
    def begun(cls, host: Host, clock_s: ClockS, limits: Limits, areas: Areas) -> QueryTurns:
        """Return the turns of a push that begins now."""
        return cls(host, PushTime(clock_s, limits.max_push_s, limits.max_query_s), limits, areas)

    def is_at_work(self, active: InForce) -> bool:
        """Whether a query may give answers somewhere."""
        return not (active.paused or active.is_suspended or self._is_stopped(active))

    def is_fatal(self, active: InForce) -> bool:
        """Whether workers died at a query that took these records before."""
        return active.query.id in self.host.fatal

    def in_time(self, active: InForce, answers: Answers[Answer]) -> list[Answer]:
        """Return all answers of one query; if they are too dear, suspend it and return none."""
        if self.is_fatal(active):
            self._suspend(active, "memory", None, None)
            return []
        self.host.at_work(active.query.id)
        turn = self.time.turn()

        def check() -> None:
            turn.check()
            if self._is_stopped(active):
                raise SupersededError

        try:
            return list(checked(answers(check), RECORDS_AT_ONCE, check))
        except SupersededError:
            return []
        except OutOfTimeError as error:
            name = "max_query_s" if turn.most_s == self.limits.max_query_s else "max_push_s"
            self._suspend(active, name, turn.most_s, round(error.spent_s, 3))
        except HeldTooMuchError as error:
            self._suspend(active, "max_window_answers", self.limits.max_window_answers, error.held)
        except MemoryError:
            self._suspend(active, "memory", None, None)
        finally:
            active.work.seconds += turn.spent_s()
            self.host.at_work("")
        return []

    def guarded(self, query: str) -> Callable[[], None]:
        """Begin the time of a query for what does not suspend it; the returned check raises once that is over."""
        if query in self.host.fatal:
            return _out_of_time
        self.host.at_work(query)
        return self.time.turn().check

    def _is_stopped(self, active: InForce) -> bool:
        """Whether a version to come pauses a query, or removes it."""
        return self.host.stopped().get(active.query.id, 0) > active.version

    def _suspend(self, active: InForce, limit: str, allowed: float | None, reached: float | None) -> None:
        newest_us = max(clock.heard_us for clock in self.areas.clocks.values())
        active.suspensions = {EVERYWHERE: Suspension(limit, allowed, reached, newest_us)}


def _out_of_time() -> None:
    raise OutOfTimeError(0.0)
