"""Lazy timing correlation: events wait for a block; with a look-up table, a probability answers for other pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter

from coincide.constraints.window import Window
from coincide.papers.interval_timing.correlation import correlate
from coincide.papers.interval_timing.regions import Regions, RegionTable, refuse_short_window, region_tables
from coincide.papers.timing_events import Arrivals, Event, MaxSortedBuffer, Side, other_side
from coincide.papers.timing_replay import Answer, Measured

BLOCK = 64  # events that wait, of both streams together


def re_evaluated(
    answer: Answer, tables: Mapping[Side, RegionTable], block: int = BLOCK
) -> Iterator[tuple[Side, list[Event], MaxSortedBuffer]]:
    """Replay the arrivals; yield what is to be joined: (base stream, its events that waited, events of the other).

    Each pair comes up once: events of a that waited meet all of b, those that wait too included; events of b that
    waited meet only what of a had been processed before. What is obsolete is dropped after each block, by LH(einv).
    """
    held: dict[Side, MaxSortedBuffer] = {"a": MaxSortedBuffer(), "b": MaxSortedBuffer()}
    waiting: dict[Side, list[Event]] = {"a": [], "b": []}
    for count, new in enumerate(answer.arrivals, start=1):
        waiting[new.side].append(new)
        answer.hold(*held.values(), *waiting.values())
        if sum(map(len, waiting.values())) < block and count < len(answer.arrivals):
            continue
        processed_a = held["a"]
        held = {side: MaxSortedBuffer((*held[side], *waiting[side])) for side in held}
        yield "a", waiting["a"], held["b"]
        yield "b", waiting["b"], processed_a
        waiting = {"a": [], "b": []}
        for side, table in tables.items():
            held[other_side(side)].drop_before(table.obsolete_before_us(new.now_us))


def lazy(arrivals: Arrivals, window: Window, threshold: float, block: int = BLOCK) -> Measured:
    """Algorithms 4 and 5 of the interval paper, for uniform templates.

    As printed, the block of a is joined with all of b, and the block of b later with all of a: two events that waited
    at the same time are found twice. Here one re-evaluation takes both blocks (see `re_evaluated`). The result is
    that of `simple`; short windows are as in `eager`.

    Parameters
    ----------
    arrivals : Arrivals
    window : Window
    threshold : float
    block : int
        How many events wait, of both streams together, before they are processed. What waits at the end is
        processed then.

    Raises
    ------
    HistogramError
        A template of more than one bucket.

    Examples
    --------
    >>> from coincide import Detections, Histogram
    >>> clock = [Histogram.uniform(-4, 0)]
    >>> arrivals = Arrivals(Detections([102_000_000], clock), Detections([92_000_000, 100_000_000], clock))
    >>> measured = lazy(arrivals, Window(10), threshold=0.5, block=2)
    >>> measured.pairs.right.tolist(), measured.work.scanned, measured.work.probabilities
    ([0, 1], 2, 1)
    """
    answer = Answer(arrivals, window, threshold)
    tables = region_tables(arrivals, window, threshold)
    for base, waiting, target in re_evaluated(answer, tables, block):
        for new in waiting:
            correlate(answer, tables[base].of(new), new, target)
    return answer.measured()


def lazy_lookup(arrivals: Arrivals, window: Window, threshold: float, block: int = BLOCK) -> Measured:
    """Algorithms 6 and 7 of the interval paper, for uniform templates in windows longer than they are.

    By Corollary 2, in the left region a partner that matches one base event matches every earlier one, in the right
    region every later one. That needs intervals in stochastic order, as uniform times are whose ends both are in
    order; general histograms are not.

    Where the printed algorithms fall short of the text:

    - Algorithm 6 walks through the block from its last max to its first, but sorts the other stream only: here the
      block is sorted too.
    - Its line 19 sets up the table of the right region with the indices of the left one: here by RL and RH.
    - Algorithm 7, line 10 does not store what it evaluates: here the newest evaluation is always stored.
    - As in `lazy`, one re-evaluation takes the blocks of both streams.

    Parameters and result are those of `lazy`.

    Raises
    ------
    HistogramError
        A template of more than one bucket.
    WindowError
        hi - lo is less than the longest templates of both streams together: both ends may fail for one pair, and an
        earlier event may then match less.

    Examples
    --------
    The later event of a matches, so the earlier one does:

    >>> from coincide import Detections, Histogram
    >>> clocks = [Histogram.uniform(-4, 0), Histogram.uniform(-2, 0)]
    >>> a = Detections([101_000_000, 101_500_000], clocks[:1])
    >>> b = Detections([90_900_000], clocks, template_index=[1])
    >>> lazy_lookup(Arrivals(a, b), Window(10), threshold=0.5).work
    Work(scanned=2, probabilities=1, lookups=1, buffered=3)
    """
    refuse_short_window(arrivals, window)
    answer = Answer(arrivals, window, threshold)
    tables = region_tables(arrivals, window, threshold)
    for base, waiting, target in re_evaluated(answer, tables, block):
        if waiting:
            _new_block(answer, tables[base], sorted(waiting, key=attrgetter("latest_us")), target)
    return answer.measured()


def _new_block(answer: Answer, table: RegionTable, block: list[Event], target: MaxSortedBuffer) -> None:
    """Algorithm 6 for a block in the order of max, which is not empty."""
    for new in block:
        _add_certain(answer, table.of(new), new, target)
    least, greatest = table.widest(block[0].latest_us), table.narrowest(block[-1].latest_us)
    left = LookUpTable(answer, target, (least.lh_us, greatest.ll_us), is_no_later)
    for new in reversed(block):
        left.probe(new, table.of(new).lh_us, table.of(new).ll_us)
    right = LookUpTable(answer, target, (least.rl_us, greatest.rh_us), lambda new, known: is_no_later(known, new))
    for new in block:
        right.probe(new, table.of(new).rl_us + 1, table.of(new).rh_us + 1)


def _add_certain(answer: Answer, regions: Regions, new: Event, target: MaxSortedBuffer) -> None:
    for other in target.between(regions.ll_us, regions.rl_us):
        answer.scanned += 1
        answer.add(new, other)


class LookUpTable:
    """For each partner in a range, the base event that was evaluated last, if it matched.

    Parameters
    ----------
    answer : Answer
    target : MaxSortedBuffer
        The partners.
    between_us : (int, int)
        Closed range of the partners' max that will be asked for.
    is_usable : callable (new, known) -> bool
        Whether a match of `known` is one of `new`.
    """

    def __init__(
        self,
        answer: Answer,
        target: MaxSortedBuffer,
        between_us: tuple[int, int],
        is_usable: Callable[[Event, Event], bool],
    ) -> None:
        self._answer, self._target, self._is_usable = answer, target, is_usable
        self._first = target.first_from(between_us[0])
        self._matched: list[Event | None] = [None] * (target.first_from(between_us[1] + 1) - self._first)

    def probe(self, new: Event, first_us: int, before_us: int) -> None:
        """Algorithm 7 for the partners whose max lies in [first, before)."""
        for index in range(self._target.first_from(first_us), self._target.first_from(before_us)):
            self._answer.scanned += 1
            self._probe(new, self._target[index], index - self._first)

    def _probe(self, new: Event, other: Event, at: int) -> None:
        known = self._matched[at]
        if known is not None and self._is_usable(new, known):
            self._answer.lookups += 1
            self._answer.add(new, other)
        else:
            self._matched[at] = new if self._answer.probe(new, other) else None


def is_no_later(one: Event, other: Event) -> bool:
    """Whether both ends of `one` are at or before those of `other` (the papers' "strictly less").

    Ends are known to the microsecond. Two that fall in the same one count only for events of one template.
    """
    if one.template == other.template:
        return one.detected_at_us <= other.detected_at_us
    return one.earliest_us < other.earliest_us and one.latest_us < other.latest_us
