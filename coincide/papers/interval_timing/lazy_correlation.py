"""Lazy timing correlation: events wait for a block; with a look-up table, a probability answers for other pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from coincide.constraints.window import Window
from coincide.papers.counted_answer import PaperResult, TimingAnswer
from coincide.papers.interval_timing.correlation import correlate
from coincide.papers.interval_timing.regions import RegionTable, refuse_short_window, region_tables
from coincide.papers.recording import Event, Recording
from coincide.papers.sorted_buffers import SortedBuffer, latest_us

BLOCK = 64  # events that wait, of both streams together


def _blocks(
    answer: TimingAnswer, tables: Mapping[str, RegionTable], block: int
) -> Iterator[tuple[str, list[Event], SortedBuffer]]:
    """Replay the recording; yield what to join: (base stream, its events that waited, events of the other stream).

    Each pair comes up once: events of a that waited meet all of b, those that wait too included; events of b that
    waited meet only what of a had been processed before. What is obsolete goes after each block, by LH(einv).
    """
    a, b = answer.streams
    buffers = {a: SortedBuffer(), b: SortedBuffer()}
    waiting: dict[str, list[Event]] = {a: [], b: []}
    for count, new in enumerate(answer.recording, start=1):
        waiting[new.stream].append(new)
        answer.count_buffered(*buffers.values(), *waiting.values())
        if sum(map(len, waiting.values())) < block and count < len(answer.recording):
            continue
        processed_a = buffers[a]
        buffers = {stream: SortedBuffer((*buffers[stream], *waiting[stream])) for stream in buffers}
        yield a, waiting[a], buffers[b]
        yield b, waiting[b], processed_a
        waiting = {a: [], b: []}
        for stream, table in tables.items():
            buffers[answer.other[stream]].drop_before(table.obsolete_before_us(new.now_us))


def lazy(recording: Recording, window: Window, threshold: float, block: int = BLOCK) -> PaperResult:
    """Algorithms 4 and 5 of the interval paper, for uniform templates; `block` events of both streams wait together.

    As printed, the block of a is joined with all of b, and the block of b later with all of a. Two events that waited
    together are then joined twice. Here one re-evaluation takes both blocks. The result is that of `simple`. A short
    window is treated as in `eager`.
    """
    answer = TimingAnswer(recording, window, threshold)
    tables = region_tables(answer)
    for base, waiting, partners in _blocks(answer, tables, block):
        for new in waiting:
            correlate(answer, tables[base].of(new), new, partners)
    return answer.result()


def lazy_lookup(recording: Recording, window: Window, threshold: float, block: int = BLOCK) -> PaperResult:
    """Algorithms 6 and 7 of the interval paper, for uniform templates in windows longer than they are.

    By Corollary 2, in the left region a partner that matches one base event matches every earlier one, in the right
    region every later one. That needs intervals in stochastic order. Uniform times are, if both of their ends are in
    order; general histograms need not be. In a shorter window both ends may fail for one pair.

    Where the printed algorithms fall short of the text:

    - Algorithm 6 walks through the block from its last max to its first, but sorts the other stream only. Here the
      block is sorted too.
    - Its line 19 sets up the table of the right region with the indices of the left one. Here RL and RH set it up.
    - Algorithm 7, line 10 does not store what it evaluates. Here the newest evaluation is always stored.
    - As in `lazy`, one re-evaluation takes the blocks of both streams.
    - Rounding may move LL beyond RL (see `Regions`). The table answers for neither side what lies between.
    """
    refuse_short_window(recording, window)
    answer = TimingAnswer(recording, window, threshold)
    tables = region_tables(answer)
    for base, waiting, partners in _blocks(answer, tables, block):
        if waiting:
            _join_block(answer, tables[base], sorted(waiting, key=latest_us), partners)
    return answer.result()


def _join_block(answer: TimingAnswer, table: RegionTable, block: list[Event], partners: SortedBuffer) -> None:
    """Algorithm 6 for a block in the order of max, which is not empty."""
    for new in block:
        regions = table.of(new)
        for other in partners.between(regions.ll_us, regions.rl_us):
            answer.work.scanned += 1
            answer.add(new, other)
        for other in partners.between(*regions.between_us):
            answer.work.scanned += 1
            answer.probe(new, other)
    least, greatest = table.widest(block[0].latest_us), table.narrowest(block[-1].latest_us)
    left = LookUpTable(answer, partners, (least.lh_us, greatest.ll_us), is_no_later)
    for new in reversed(block):
        left.probe(new, *table.of(new).left_us)
    right = LookUpTable(answer, partners, (least.rl_us, greatest.rh_us), lambda new, known: is_no_later(known, new))
    for new in block:
        right.probe(new, *table.of(new).right_us)


class LookUpTable:
    """For each partner whose max lies in the closed range `between_us`, the base event evaluated last, if it matched.

    `is_usable(new, known)` says whether a match of `known` is a match of `new` too.
    """

    def __init__(
        self,
        answer: TimingAnswer,
        partners: SortedBuffer,
        between_us: tuple[int, int],
        is_usable: Callable[[Event, Event], bool],
    ) -> None:
        self._answer, self._partners, self._is_usable = answer, partners, is_usable
        self._first = partners.first_from(between_us[0])
        self._matched: list[Event | None] = [None] * (partners.first_from(between_us[1] + 1) - self._first)

    def probe(self, new: Event, first_us: int, before_us: int) -> None:
        """Algorithm 7 for the partners whose max lies in [first, before)."""
        for index in range(self._partners.first_from(first_us), self._partners.first_from(before_us)):
            self._answer.work.scanned += 1
            self._probe(new, self._partners[index], index - self._first)

    def _probe(self, new: Event, other: Event, at: int) -> None:
        known = self._matched[at]
        if known is not None and self._is_usable(new, known):
            self._answer.work.lookups += 1
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
