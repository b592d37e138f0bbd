"""Backward evaluation (BEW): each tuple that arrives is joined at once with those that came before it."""

from __future__ import annotations

from coincide.papers.window_join.counted_work import Answer, Measured, visiting_order
from coincide.papers.window_join.window_buffers import HashBuffer, JoinBuffer, NestedLoopBuffer
from coincide.papers.window_join.window_replay import Point
from coincide.papers.window_join.windows import Reach

FAR_US = 2**62


class BackwardEvaluation:
    """The iterations of BEW, whatever the windows.

    A new tuple opens a period: the times of partners that its windows allow. Each partner found in a stream shrinks it
    before the next stream is scanned (from the newest tuple back to the start of the period). Results have the new
    tuple as the last to arrive, so none comes twice; by time it need not be the newest.

    Where the text is silent: a tuple may go once no stream can send a partner any more, that is when the horizons of
    *all* other streams are out of its reach, not when one of them is. The horizon of a stream is its greatest time, by
    time and not by arrival, less the disorder it comes with (0 in the paper).

    Parameters
    ----------
    answer : Answer
    tested : Reach
        What periods are made of. Pairs that it does not name are not compared.
    kept : Reach
        How long a tuple is held for each other stream.
    refined : bool
        Whether complete results still have to pass the windows of the graph.
    """

    def __init__(self, answer: Answer, tested: Reach, kept: Reach, *, refined: bool) -> None:
        self._answer, self._tested, self._kept, self._refined = answer, tested, kept, refined
        streams = answer.graph.roles
        buffer = HashBuffer if answer.hashed else NestedLoopBuffer
        self._buffers: dict[str, JoinBuffer] = {stream: buffer() for stream in streams}
        self._orders = {stream: visiting_order(answer.graph, stream) for stream in streams}
        self._horizon_us = dict.fromkeys(streams, -FAR_US)

    def run(self) -> Measured:
        """Join everything that arrives."""
        for new in self._answer.arrivals:
            self.push(new)
        return self._answer.measured()

    def push(self, new: Point) -> None:
        """One iteration."""
        self._advance_horizon(new)
        self._drop_expired()
        self._extend([new])
        self._buffers[new.stream].insert(new)
        self._answer.hold(sum(map(len, self._buffers.values())))

    def _extend(self, members: list[Point]) -> None:
        """Look for the next member, recursively; without any left to look for, report."""
        order = self._orders[members[0].stream]
        if len(members) == len(order):
            self._report(members)
            return
        stream = order[len(members)]
        start_us, end_us = period(members, stream, self._tested)
        for candidate in self._buffers[stream].newest_first(members[0].key):
            self._answer.touched += 1
            self._answer.windows_tested += 1
            if candidate.time_us < start_us:
                break
            if candidate.time_us <= end_us and self._answer.agrees(members, candidate):
                self._extend([*members, candidate])

    def _report(self, members: list[Point]) -> None:
        if not self._refined or self._answer.refine(members):
            self._answer.add(members)

    def _advance_horizon(self, new: Point) -> None:
        horizon_us = new.time_us - self._answer.arrivals.disorder_us[new.stream]
        self._horizon_us[new.stream] = max(self._horizon_us[new.stream], horizon_us)

    def _drop_expired(self) -> None:
        for stream, buffer in self._buffers.items():
            cut_us = self._kept_from_us(stream)
            while (oldest := buffer.oldest) is not None and oldest.time_us < cut_us:
                buffer.drop_oldest()

    def _kept_from_us(self, stream: str) -> int:
        """Return the least time of a tuple that some stream to come may join."""
        return min(
            horizon_us - self._kept[stream, other]
            for other, horizon_us in self._horizon_us.items()
            if (stream, other) in self._kept
        )


def period(members: list[Point], stream: str, reach: Reach) -> tuple[int, int]:
    """Return the first and the last time of a member of `stream` that is within reach of those chosen.

    Examples
    --------
    >>> period([Point("a", 0, 10, None, 10), Point("b", 0, 13, None, 13)], "c", {("a", "c"): 5, ("c", "a"): 5,
    ...     ("b", "c"): 4, ("c", "b"): 0})
    (13, 15)
    """
    start_us, end_us = -FAR_US, FAR_US
    for member in members:
        if (member.stream, stream) in reach:
            start_us = max(start_us, member.time_us - reach[stream, member.stream])
            end_us = min(end_us, member.time_us + reach[member.stream, stream])
    return start_us, end_us
