"""Mode 1 of FEW: the heads of all streams, moved on until they are within reach of each other."""

from __future__ import annotations

from collections.abc import Mapping

from coincide.window_join.paper.answer import Answer
from coincide.window_join.paper.backward import period
from coincide.window_join.paper.forward_queue import ForwardQueue
from coincide.window_join.paper.reach import Reach
from coincide.window_join.paper.replay import Point


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
        self._streams = answer.graph.streams
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
