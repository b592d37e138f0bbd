"""TimingJoin: the streaming twin of `coincide.timing_join`."""

from __future__ import annotations

from coincide.arrays.changes import Changes
from coincide.constraints.conditions import JoinCondition, SensorRule
from coincide.constraints.window import Window
from coincide.errors import DetectionsError
from coincide.joins.answers import Pairs
from coincide.joins.detections import Detections
from coincide.joins.retention import checked_bound
from coincide.live.arrivals import FrameIntake
from coincide.live.shared_joins import SharedJoins
from coincide.offsets.cache import USUAL_LIMITS, LookUps, PairLimits, checked_pair_limits
from coincide.stream import Stream, checked_stream


class TimingJoin:
    """Pairs of two streams with P(lo <= Xb - Xa <= hi) >= threshold, as their events come in.

    For events that are not late the pairs are those of `timing_join`, whatever the order of arrival and however
    it is split into frames. Each pair is found once, when its second event arrives.

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
    >>> clock = [Histogram.uniform(-1, 1)]
    >>> join = TimingJoin(Stream("seismic", 10), Stream("acoustic", 10), Window(2.0), threshold=0.6)
    >>> len(join.push("acoustic", Detections([101_000_000], clock, id=["a1"])).insert)
    0
    >>> changes = join.push("seismic", Detections([100_000_000, 80_000_000], clock, id=["s1", "s2"]))
    >>> changes.insert.left.tolist(), changes.insert.right.tolist(), changes.insert.probability.round(3).tolist()
    (['s1'], ['a1'], [0.875])
    >>> changes.late.tolist(), changes.late_by_us.tolist()
    ([1], [11000000])
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
        self._streams = {stream.name: stream for stream in streams}
        if len(self._streams) < len(streams):
            raise DetectionsError("b", b, f"a stream named otherwise than a, or a itself: {a}")
        self._condition = JoinCondition(a.name, streams[-1].name, window, threshold, sensors)
        self._intake = FrameIntake(self._streams, sensors, orders_ties=self._condition.is_unordered)
        self._joins = SharedJoins(streams, self._intake.labels.goes_first, checked_pair_limits(pair_limits))
        self._joins.install("join", self._condition)
        self._max_buffered = checked_bound(max_buffered)
        self.dropped = 0

    def push(self, stream: str, frame: Detections) -> Changes[Pairs]:
        """Take a frame of one stream in; return the pairs that it completes.

        Parameters
        ----------
        stream : str
        frame : Detections
            Rows in the order of arrival. All frames give ids (unique ones), or none does; a frame without rows may
        do as it likes.

        Returns
        -------
        Changes
            Pairs by id, or by the number of the row over all frames pushed so far; and which rows came late.

        Raises
        ------
        CoincideError
            A stream not named at the start, a template longer than its stream declares, labels of another kind
            than before, sensors missing where the rule is "same". Nothing of the frame has been taken in then.
        """
        accepted = self._intake.take(stream, frame)
        pairs = self._joins.push(stream, accepted.batch, frame.templates).get("join", Pairs.none())
        changes = Changes(self._intake.labels.named(pairs), Pairs.none(), accepted.late, accepted.late_by_us)
        self._evict(stream)
        return changes

    def buffered(self, stream: str) -> int:
        """How many events of a stream are held."""
        return self._joins.buffered(stream)

    @property
    def templates_known(self) -> int:
        """How many templates are held: of the events buffered, and some that wait to be forgotten."""
        return self._joins.templates_known

    @property
    def look_ups(self) -> LookUps:
        """Hits and misses of the cache of template pairs, and its size; nothing while a table will do."""
        return self._joins.look_ups("join")

    def watermark_us(self, area: int | str | None = None) -> int:
        """How far an area has come (without areas: everything); BEFORE_ALL_US if nothing has been seen of it."""
        return self._intake.watermark_us(area)

    def _evict(self, pushed: str) -> None:
        if self._max_buffered is not None and self.buffered(pushed) > self._max_buffered:
            self._joins.evict(self._intake.watermark.state_us)  # first what no event that is on time can match any more
            self.dropped += len(self._joins.evict_oldest(pushed, self.buffered(pushed) - self._max_buffered))
        held = sum(self.buffered(stream) for stream in self._streams)
        if self._intake.is_eviction_due(held):
            self._joins.evict(self._intake.watermark.state_us)
            self._forget_labels(held)

    def _forget_labels(self, held: int) -> None:
        """Forget labels of events that are not held, once they are many."""
        if self._intake.labels.is_log_long(held):
            self._intake.labels.forget_before(self._joins.least_ref(default=self._intake.rows))
        if self._intake.labels.are_many:
            self._intake.forget_areas_and_sensors(*self._joins.codes_held())
