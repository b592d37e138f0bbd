"""TimingJoin: the streaming twin of `coincide.timing_join`."""

from __future__ import annotations

from coincide.arrays.changes import Changes
from coincide.constraints.conditions import JoinCondition, SensorRule
from coincide.constraints.window import Window
from coincide.errors import DetectionsError
from coincide.joins.answers import Pairs
from coincide.joins.detections import Detections
from coincide.joins.events import Events
from coincide.joins.pairs.installed_join import InstalledJoin
from coincide.joins.retention import reach_us
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.live.batch_intake import BatchIntake, LiveJoin
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import USUAL_LIMITS, PairLimits, checked_pair_limits
from coincide.stream import Stream, checked_stream


class TimingJoin(LiveJoin):
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
        by_name = {stream.name: stream for stream in streams}
        if len(by_name) < len(streams):
            raise DetectionsError("b", b, f"a stream named otherwise than a, or a itself: {a}")
        condition = JoinCondition(a.name, streams[-1].name, window, threshold, sensors)
        self._join = InstalledJoin.install(condition, checked_pair_limits(pair_limits))
        self._reach_us = {
            name: reach_us(stream, by_name, [(condition.a, condition.b, window)]) for name, stream in by_name.items()
        }
        intake = BatchIntake(by_name, sensors, RowLabels(orders_ties=condition.is_unordered))
        super().__init__(intake, StreamBuffers(by_name), max_buffered)

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
        accepted = self._intake.take(stream, detections)
        batch = self._buffers.coded(stream, accepted.on_time, detections.templates)
        pairs = self._intake.labels.named(self._pairs(stream, batch))
        self._buffers.insert(stream, batch)
        self._make_room(stream)
        return Changes(pairs, Pairs.none(), accepted.late, accepted.late_by_us)

    @property
    def look_ups(self) -> LookUps:
        """Hits and misses of the cache of template pairs, and its size; nothing while a table will do."""
        return self._join.look_ups

    def _pairs(self, stream: str, batch: Events) -> Pairs:
        """Return the pairs of refs that a coded batch completes."""
        a, b = self._join.condition.a, self._join.condition.b
        us, vs = self._buffers.templates[a], self._buffers.templates[b]
        self._join = self._join.knowing(us, vs)
        partners = self._buffers.buffer(b if stream == a else a)
        pairs = self._join.find(stream, batch, partners, self._intake.labels.goes_first)
        return pairs.pairs(us.templates, vs.templates, self._join.condition.window) if len(pairs) else Pairs.none()

    def _evict(self) -> None:
        self._buffers.evict(self._intake.watermark.state_us, self._reach_us)
        new_codes = self._buffers.forget_templates()
        if new_codes:
            a, b = self._join.condition.a, self._join.condition.b
            templates = self._buffers.templates
            self._join = self._join.renewed(templates[a], templates[b], new_codes.get(a), new_codes.get(b))
