"""One stream as FEW sees it: in order of time, what is admitted and what still waits."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from coincide.window_join.paper.buffers import HashBuffer, JoinBuffer, NestedLoopBuffer
from coincide.window_join.paper.replay import Point


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
