"""TimingJoin: the streaming twin of `coincide.timing_join`."""

from __future__ import annotations

from coincide.arrays.changes import Changes
from coincide.constraints.conditions import JoinCondition, SensorRule
from coincide.constraints.window import Window
from coincide.errors import DetectionsError
from coincide.joins.answers import Pairs
from coincide.joins.detections import Detections
from coincide.live.answer_blocks import AnswerBlocks
from coincide.live.live_join import LiveJoin
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits
from coincide.stream import Stream, checked_stream


class TimingJoin(LiveJoin[Pairs]):
    """Pairs of two streams with P(lo <= Xb - Xa <= hi) >= threshold, as their events come in.

    For events that are not late the pairs are those of `timing_join`, whatever the order of arrival and however
    it is split into batches. Each pair is found once, when its second event arrives.

    Parameters
    ----------
    a, b : Stream
        `b` None (or the same stream) joins `a` with itself, as `timing_join` does; ties of time are ordered by
        (sensor, id).
    window : Window
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
    max_buffered : int, optional
        Hard bound on the events kept of each stream, at least 1: beyond it the earliest are dropped, and counted.
        An area all of whose events were dropped may be forgotten: it then begins anew, without a watermark.
    pair_limits : PairLimits
        Bounds on what is kept of template pairs where events bring their own templates.

    Attributes
    ----------
    dropped : int
        Events that `max_buffered` dropped while they might still have found a partner.

    Examples
    --------
    >>> from coincide.templates.histogram import Histogram
    >>> clock = [Histogram.uniform(-1, 1)]
    >>> join = TimingJoin(Stream("seismic", 10), Stream("acoustic", 10), Window(2.0), threshold=0.6)
    >>> join.push("acoustic", Detections([101_000_000], clock, id=["a1"])).insert
    Pairs(0)
    >>> changes = join.push("seismic", Detections([100_000_000, 80_000_000], clock, id=["s1", "s2"]))
    >>> changes
    Changes(insert=Pairs(1: ('s1', 'a1')), retract=Pairs(0), late=rows(1: 1))
    >>> changes.insert.probability.round(3).tolist(), changes.late_by_us.tolist()
    ([0.875], [11000000])
    """

    def __init__(
        self,
        a: Stream,
        b: Stream | None,
        window: Window,
        threshold: float,
        sensors: SensorRule = "different",
        *,
        max_buffered: int | None = None,
        pair_limits: PairLimits = USUAL_LIMITS,
    ) -> None:
        checked_stream("a", a)
        streams = [a] if b is None or b == a else [a, checked_stream("b", b)]
        if len({stream.name for stream in streams}) < len(streams):
            raise DetectionsError("b", b, f"a stream named otherwise than a, or a itself: {a}")
        condition = JoinCondition(a.name, streams[-1].name, window, threshold, sensors)
        super().__init__(
            streams, condition, max_buffered=max_buffered, pair_limits=pair_limits, orders_ties=condition.is_unordered
        )

    def push(self, stream: str, detections: Detections) -> Changes[Pairs]:
        """Take a batch of one stream in; return the pairs that it completes.

        Parameters
        ----------
        stream : str
        detections : Detections
            Rows in the order of arrival. All batches give ids (unique ones), or none does; a batch without rows may
            do as it likes.

        Returns
        -------
        Changes
            Pairs by id, or by the number of the row over all batches pushed so far; and which rows came late.

        Raises
        ------
        CoincideError
            A stream not named at the start, a template longer than its stream declares, labels of another kind
            than before, sensors missing where the rule is "same". Nothing of the batch has been taken in then.
        """
        return self._pushed(stream, detections)

    def push_blocks(self, stream: str, detections: Detections) -> AnswerBlocks[Changes[Pairs]]:
        """`push` in parts, for answers that need not fit in memory.

        The batch is taken in at once, and the first block says which rows came late. A block has about 64k candidates,
        or as many as one event makes. Until all are read, or the iterator is closed or dropped, the join refuses
        another push.
        """
        return self._pushed_blocks(stream, detections)
