"""Forward evaluation (FEW): wait for a period that all streams reach, then join without testing windows."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from heapq import heappop, heappush

from coincide.papers.window_join.backward import period
from coincide.papers.window_join.counted_work import Answer, Measured, visiting_order
from coincide.papers.window_join.window_buffers import HashBuffer, JoinBuffer, NestedLoopBuffer
from coincide.papers.window_join.window_replay import Point
from coincide.papers.window_join.windows import Reach


class ForwardQueue:
    """Tuples of one stream: admitted ones, which are joined with all admitted of other streams, then waiting ones.

    The paper's streams are in order. One that is not is put in order here: a tuple waits until the stream can send
    none before it.

    Parameters
    ----------
    disorder_us : int
        How far a tuple may lie behind the greatest time of its stream when it arrives.
    hashed : bool
        Whether admitted tuples are kept in a hash table.

    Attributes
    ----------
    admitted : JoinBuffer
    has_ended : bool
        Whether nothing will come any more.
    """

    def __init__(self, disorder_us: int, *, hashed: bool) -> None:
        self.admitted: JoinBuffer = HashBuffer() if hashed else NestedLoopBuffer()
        self.has_ended = False
        self._disorder_us = disorder_us
        self._greatest_us: int | None = None
        self._unordered: list[tuple[int, int, Point]] = []
        self._waiting: deque[Point] = deque()

    def __len__(self) -> int:
        return len(self.admitted) + len(self._waiting) + len(self._unordered)

    def arrive(self, point: Point) -> None:
        """Take a tuple; what now is in order may be admitted."""
        heappush(self._unordered, (point.time_us, point.row, point))
        self._greatest_us = max(point.time_us, point.time_us if self._greatest_us is None else self._greatest_us)
        self._put_in_order(up_to_us=self._greatest_us - self._disorder_us)

    def end(self) -> None:
        """Take note that nothing will come any more."""
        self.has_ended = True
        self._put_in_order(up_to_us=None)

    @property
    def waiting(self) -> Point | None:
        """The oldest tuple that is in order and not admitted."""
        return self._waiting[0] if self._waiting else None

    @property
    def head(self) -> Point | None:
        """The oldest tuple in order, admitted or not."""
        return self.admitted.oldest or self.waiting

    def admit(self) -> Point:
        """Move the oldest waiting tuple to the admitted ones."""
        point = self._waiting.popleft()
        self.admitted.insert(point)
        return point

    def drop_head(self) -> Point | None:
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

    def __init__(self, answer: Answer, queues: Mapping[str, ForwardQueue], reach: Reach) -> None:
        self._answer, self._queues, self._reach = answer, queues, reach
        self._streams = answer.graph.roles
        self._included: list[Point] = []
        self._first = 0

    def restart(self) -> None:
        """Begin anew at the first stream."""
        self._included, self._first = [], 0

    def find(self, now_us: int) -> list[Point] | None:
        """Return a starting tuple of each stream; None if a stream has to be waited for."""
        while len(self._included) < len(self._streams):
            at = (self._first + len(self._included)) % len(self._streams)
            head = self._queues[self._streams[at]].head
            if head is None:
                return None
            self._include(head, at, now_us)
        return sorted(self._included, key=lambda point: self._streams.index(point.stream))

    def _include(self, head: Point, at: int, now_us: int) -> None:
        start_us, end_us = period(self._included, head.stream, self._reach)
        self._answer.windows_tested += 1
        if head.time_us < start_us:
            dropped = self._queues[head.stream].drop_head()
            if dropped is not None:
                self._answer.waited(dropped, now_us)
        elif head.time_us > end_us:
            self._included, self._first = [head], at
        else:
            self._included.append(head)


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
        streams, disorder_us = answer.graph.roles, answer.arrivals.disorder_us
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
