"""Forward evaluation (FEW): wait for a period that all streams reach, then join without testing windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush

from coincide.constraints.graph import ConstraintGraph
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import SortedBuffer
from coincide.papers.window_join.evaluation import EvaluationPlan, JoinEvaluation, Predicate, period
from coincide.papers.window_join.reaches import Reach


class ForwardQueue:
    """Tuples of one stream: admitted ones, which are joined with all admitted of other streams, then waiting ones.

    The paper's streams are in order. One that is not is put in order here: a tuple waits until the stream can send
    none before it, which is when it lies `disorder_us` behind the greatest time of its stream.
    """

    def __init__(self, disorder_us: int, admitted: SortedBuffer) -> None:
        self.admitted = admitted
        self.has_ended = False  # nothing will come any more
        self._disorder_us = disorder_us
        self._greatest_us: int | None = None
        self._unordered: list[tuple[int, int, Event]] = []
        self._waiting: deque[Event] = deque()

    def __len__(self) -> int:
        return len(self.admitted) + len(self._waiting) + len(self._unordered)

    def arrive(self, event: Event) -> None:
        """Take a tuple; what now is in order may be admitted."""
        heappush(self._unordered, (event.latest_us, event.row, event))
        self._greatest_us = max(event.latest_us, event.latest_us if self._greatest_us is None else self._greatest_us)
        self._put_in_order(up_to_us=self._greatest_us - self._disorder_us)

    def end(self) -> None:
        """Take note that nothing will come any more."""
        self.has_ended = True
        self._put_in_order(up_to_us=None)

    @property
    def waiting(self) -> Event | None:
        """The oldest tuple that is in order and not admitted."""
        return self._waiting[0] if self._waiting else None

    @property
    def head(self) -> Event | None:
        """The oldest tuple in order, admitted or not."""
        return self.admitted.oldest or self.waiting

    def admit(self) -> Event:
        """Move the oldest waiting tuple to the admitted ones."""
        event = self._waiting.popleft()
        self.admitted.insert(event)
        return event

    def drop_head(self) -> Event | None:
        """Forget the head; return it if it was still waiting."""
        if self.admitted.oldest is None:
            return self._waiting.popleft()
        self.admitted.drop_oldest()
        return None

    def _put_in_order(self, up_to_us: int | None) -> None:
        while self._unordered and (up_to_us is None or self._unordered[0][0] <= up_to_us):
            self._waiting.append(heappop(self._unordered)[2])


class PeriodConstruction:
    """The plane sweep that finds starting tuples, one of each stream; it may be left where a stream has no tuple yet.

    Streams are visited in turn. A head inside the period shrinks it. A head before it cannot join any tuple left of
    some stream visited, and is dropped. A head after it makes an earlier head useless: the period is discarded and a
    new one opened at the late head; what lies before that is dropped when its stream is visited again.

    Every head is compared both ways with those included. With the paper's local windows a head could lie in the period
    that another opens while that one lies outside its own: the sweep would then start with tuples that do not join.
    """

    def __init__(self, evaluation: JoinEvaluation, queues: Mapping[str, ForwardQueue], reach: Reach) -> None:
        self._evaluation, self._queues, self._reach = evaluation, queues, reach
        self._streams = evaluation.streams
        self._included: list[Event] = []
        self._first = 0

    def restart(self) -> None:
        """Begin anew at the first stream."""
        self._included, self._first = [], 0

    def find(self, now_us: int) -> list[Event] | None:
        """Return a starting tuple of each stream; None if a stream has to be waited for."""
        while len(self._included) < len(self._streams):
            at = (self._first + len(self._included)) % len(self._streams)
            head = self._queues[self._streams[at]].head
            if head is None:
                return None
            self._include(head, at, now_us)
        return sorted(self._included, key=lambda event: self._streams.index(event.stream))

    def _include(self, head: Event, at: int, now_us: int) -> None:
        start_us, end_us = period(self._included, head.stream, self._reach)
        self._evaluation.work.windows_tested += 1
        if head.latest_us < start_us:
            dropped = self._queues[head.stream].drop_head()
            if dropped is not None:
                self._evaluation.count_wait(dropped, now_us)
        elif head.latest_us > end_us:
            self._included, self._first = [head], at
        else:
            self._included.append(head)


class ForwardEvaluation(JoinEvaluation):
    """The two modes of FEW, whatever the windows.

    Mode 1 finds starting tuples (`PeriodConstruction`). Mode 2 admits the tuples that follow them up to the end of the
    period; in a uniform clique all that is admitted lies within the window of all else, so that a new tuple is joined
    with what is admitted without another test. Other windows make it a filter, whose results are refined.

    Where the text is silent: the period stays open until *every* other stream is past its end or has ended; then the
    starting tuple that opened it is dropped. Closed at the first tuple past the end, the partners that other streams
    are about to send would be lost. Tuples stay marked as admitted from period to period, so no result comes twice.
    """

    def __init__(
        self, recording: Recording, graph: ConstraintGraph, predicate: Predicate | None, plan: EvaluationPlan
    ) -> None:
        super().__init__(recording, graph, predicate, plan)
        known = self.recording.parameters
        self._queues = {stream: ForwardQueue(known[stream].disorder_us, self._buffer()) for stream in self.streams}
        self._sweep = PeriodConstruction(self, self._queues, self._plan.tested)
        self._end_us = 0  # of the open period
        self._not_past: list[str] = []  # streams that may still send tuples of the open period
        self._opener: str | None = None  # stream whose starting tuple opened the period
        self._now_us = 0

    def push(self, new: Event) -> None:
        """Take a tuple, and go on as far as the streams allow."""
        self._now_us = new.now_us
        self._queues[new.stream].arrive(new)
        self.count_buffered(*self._queues.values())
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
        while self._opener is not None or self._opens_period():
            self._admit_all()
            if not self._is_period_over():
                return
            self._close_period()

    def _opens_period(self) -> bool:
        """Mode 1: open the period of the starting tuple whose reach ends first."""
        starting = self._sweep.find(self._now_us)
        if starting is not None:
            opener = min(starting, key=self._reaches_to_us)  # at ties the first of the streams
            self._end_us, self._opener = self._reaches_to_us(opener), opener.stream
            self._not_past = list(self._queues)
        return starting is not None

    def _admit_all(self) -> None:
        """Mode 2: join what has come within the period."""
        for stream in list(self._not_past):
            queue = self._queues[stream]
            while (new := queue.waiting) is not None:
                self.work.windows_tested += 1
                if new.latest_us > self._end_us:
                    self._not_past.remove(stream)
                    break
                self.count_wait(queue.admit(), self._now_us)
                self._extend([new])

    def _candidates(self, members: list[Event], stream: str) -> Iterator[Event]:
        for candidate in self._queues[stream].admitted.newest_first(members[0].key):
            self.work.scanned += 1
            yield candidate

    def _is_period_over(self) -> bool:
        """Whether no other stream can send a partner of the period's opener."""
        return all(self._queues[stream].has_ended for stream in self._not_past if stream != self._opener)

    def _close_period(self) -> None:
        if self._opener is not None:
            self._drop_head(self._queues[self._opener])
        self._opener = None
        self._sweep.restart()

    def _drop_head(self, queue: ForwardQueue) -> None:
        if (dropped := queue.drop_head()) is not None:
            self.count_wait(dropped, self._now_us)

    def _reaches_to_us(self, event: Event) -> int:
        """Return the time of the latest partner that a tuple may have in any stream."""
        stream = event.stream
        return event.latest_us + max(self._plan.tested[stream, other] for other in self._queues if other != stream)
