"""Forward evaluation (FEW): wait for a period that all streams reach, then join without testing windows."""

from __future__ import annotations

from coincide.window_join.paper.answer import Answer, visiting_order
from coincide.window_join.paper.forward_queue import ForwardQueue
from coincide.window_join.paper.reach import Reach
from coincide.window_join.paper.replay import Point
from coincide.window_join.paper.starting_tuples import PeriodConstruction
from coincide.window_join.paper.work import Measured


class ForwardEvaluation:
    """The two modes of FEW, whatever the windows.

    Mode 1 finds starting tuples (`PeriodConstruction`). Mode 2 admits the tuples that follow them up to the end of the
    period; in a uniform clique all that is admitted lies within the window of all else, so that a new tuple is joined
    with what is admitted without another test. Other windows make it a filter, whose results are refined.

    Where the text is silent: the period stays open until *every* other stream is past its end or has ended; then the
    starting tuple that opened it is dropped. Closed at the first tuple past the end, the partners that other streams
    are about to send would be lost. Tuples stay marked as admitted from period to period, so no result comes twice.

    Parameters
    ----------
    answer : Answer
    reach : Reach
        Of every pair of streams.
    refined : bool
        Whether complete results still have to pass the windows of the graph.
    """

    def __init__(self, answer: Answer, reach: Reach, *, refined: bool) -> None:
        self._answer, self._reach, self._refined = answer, reach, refined
        streams, disorder_us = answer.graph.streams, answer.arrivals.disorder_us
        self._queues = {each: ForwardQueue(disorder_us[each], hashed=answer.hashed) for each in streams}
        self._orders = {stream: visiting_order(answer.graph, stream) for stream in streams}
        self._sweep = PeriodConstruction(answer, self._queues, reach)
        self._end_us = 0  # of the open period
        self._not_past: list[str] = []  # streams that may still send tuples of the open period
        self._opener: str | None = None  # stream whose starting tuple opened the period
        self._now_us = 0

    def run(self) -> Measured:
        """Join everything that arrives, and at the end what still waits."""
        for new in self._answer.arrivals:
            self.push(new)
        self.flush()
        return self._answer.measured()

    def push(self, new: Point) -> None:
        """Take a tuple, and go on as far as the streams allow."""
        self._now_us = new.now_us
        self._queues[new.stream].arrive(new)
        self._answer.hold(sum(map(len, self._queues.values())))
        self._go_on()

    def flush(self) -> None:
        """Join what waits for tuples that will never come."""
        for queue in self._queues.values():
            queue.end()
        self._go_on()
        for queue in self._queues.values():
            while queue.head is not None:
                self._drop_head(queue)

    def _go_on(self) -> None:
        while self._opener is not None or self._is_period_found():
            self._admit_all()
            if not self._is_period_over():
                return
            self._close_period()

    def _is_period_found(self) -> bool:
        """Mode 1: open the period of the starting tuple whose reach ends first."""
        found = self._sweep.find(self._now_us)
        if found is not None:
            opener = min(found, key=self._reaches_to_us)  # at ties the first of the streams
            self._end_us, self._opener = self._reaches_to_us(opener), opener.stream
            self._not_past = list(self._queues)
        return found is not None

    def _admit_all(self) -> None:
        """Mode 2: join what has come within the period."""
        for stream in list(self._not_past):
            queue = self._queues[stream]
            while (new := queue.waiting) is not None:
                self._answer.windows_tested += 1
                if new.time_us > self._end_us:
                    self._not_past.remove(stream)
                    break
                self._answer.waited(queue.admit(), self._now_us)
                self._extend([new])

    def _extend(self, members: list[Point]) -> None:
        """Look for the next member, recursively; without any left to look for, report."""
        order = self._orders[members[0].stream]
        if len(members) == len(order):
            if not self._refined or self._answer.refine(members):
                self._answer.add(members)
            return
        for candidate in self._queues[order[len(members)]].admitted.newest_first(members[0].key):
            self._answer.touched += 1
            if self._answer.agrees(members, candidate):
                self._extend([*members, candidate])

    def _is_period_over(self) -> bool:
        """Whether no other stream can send a partner of the period's opener."""
        return all(self._queues[stream].has_ended for stream in self._not_past if stream != self._opener)

    def _close_period(self) -> None:
        if self._opener is not None:
            self._drop_head(self._queues[self._opener])
        self._opener = None
        self._sweep.restart()

    def _drop_head(self, queue: ForwardQueue) -> None:
        dropped = queue.drop_head()
        if dropped is not None:
            self._answer.waited(dropped, self._now_us)

    def _reaches_to_us(self, point: Point) -> int:
        """Return the time of the latest partner that a tuple may have in any stream."""
        stream = point.stream
        return point.time_us + max(self._reach[stream, other] for other in self._queues if other != stream)
