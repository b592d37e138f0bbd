"""Backward evaluation (BEW): each tuple that arrives is joined at once with those that came before it."""

from __future__ import annotations

from collections.abc import Iterator

from coincide.constraints.graph import ConstraintGraph
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import FAR_US
from coincide.papers.window_join.evaluation import EvaluationPlan, JoinEvaluation, Predicate, period


class BackwardEvaluation(JoinEvaluation):
    """The iterations of BEW, whatever the windows.

    A new tuple opens a period: the times of partners that its windows allow. Each partner found in a stream shrinks it
    before the next stream is scanned (from the newest tuple back to the start of the period). Results have the new
    tuple as the last to arrive, so none comes twice; by time it need not be the newest.

    Where the text is silent: a tuple may go once no stream can send a partner any more, that is when the horizons of
    *all* other streams are out of its reach, not when one of them is. The horizon of a stream is its greatest time, by
    time and not by arrival, less the disorder it comes with (0 in the paper).
    """

    def __init__(
        self, recording: Recording, graph: ConstraintGraph, predicate: Predicate | None, plan: EvaluationPlan
    ) -> None:
        super().__init__(recording, graph, predicate, plan)
        self._buffers = {stream: self._buffer() for stream in self.streams}
        self._horizon_us = dict.fromkeys(self.streams, -FAR_US)

    def push(self, new: Event) -> None:
        """One iteration."""
        self._advance_horizon(new)
        for stream, buffer in self._buffers.items():
            buffer.drop_before(self._kept_from_us(stream))
        self._extend([new])
        self._buffers[new.stream].insert(new)
        self.count_buffered(*self._buffers.values())

    def _candidates(self, members: list[Event], stream: str) -> Iterator[Event]:
        start_us, end_us = period(members, stream, self._plan.tested)
        for candidate in self._buffers[stream].newest_first(members[0].key):
            self.work.scanned += 1
            self.work.windows_tested += 1
            if candidate.latest_us < start_us:
                return
            if candidate.latest_us <= end_us:
                yield candidate

    def _advance_horizon(self, new: Event) -> None:
        horizon_us = new.latest_us - self.recording.parameters[new.stream].disorder_us
        self._horizon_us[new.stream] = max(self._horizon_us[new.stream], horizon_us)

    def _kept_from_us(self, stream: str) -> int:
        """Return the least time of a tuple that some stream to come may join."""
        return min(
            horizon_us - self._plan.kept[stream, other]
            for other, horizon_us in self._horizon_us.items()
            if (stream, other) in self._plan.kept
        )
