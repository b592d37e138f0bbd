"""Two recorded streams in an order of arrival: at random for Hypothesis, and a slice of the Central Italy morning."""

import math
import random
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from coincide import Detections, Histogram, Pairs, Stream, TimingJoin, Window
from coincide.arrays.kinds import Int64Array
from coincide.papers.recording import Recording
from tests.reference import central_italy
from tests.reference.oracle import Detection, QueryVersion, expected_matches
from tests.reference.pair_probability import Template
from tests.reference.window_join import pushes_of

UNIFORM = (
    *(Histogram.uniform(-2, 0), Histogram.uniform(-1, 1), Histogram.uniform(-3, 0), Histogram.uniform(-2, 2)),
    *(Histogram.point(), Histogram.uniform(-1.000_001, 0.499_999)),
)
SEVERAL_BUCKETS = (
    Histogram.from_latency([(0, 1, 0.6), (1, 2, 0.3), (2, 4, 0.1)]),
    Histogram([-2, -1, 1, 2], [0.5, 0, 0.5]),  # a gap
    Histogram([-0.5, 0, 0, 0.5], [0.25, 0.5, 0.25]),  # an atom inside
)
LONG_WINDOWS = (Window(4.0), Window(5.5), Window(lo_s=1.0, hi_s=9.0), Window(lo_s=-12.0, hi_s=-3.0))
SHORT_WINDOWS = (Window(0.5), Window(1.0), Window(lo_s=-0.5, hi_s=1.5), Window(lo_s=2.0, hi_s=2.0))
THRESHOLDS = (1.0, 0.999_999_999, 0.8, 0.75, 0.5, 1 / 3, 0.25, 0.05, 1e-9)

PairSet = set[tuple[int, int]]


@dataclass(frozen=True)
class Recorded:
    """Two streams, how they arrive, and what is asked of them."""

    a: Detections
    b: Detections
    order: list[int]
    window: Window
    threshold: float

    @property
    def recording(self) -> Recording:
        return two_streams(self.a, self.b, self.order)

    @property
    def question(self) -> tuple[Recording, Window, float]:
        """What the papers' algorithms take."""
        return self.recording, self.window, self.threshold


def two_streams(a: Detections, b: Detections, order: npt.ArrayLike | None = None) -> Recording:
    return Recording({"a": a, "b": b}, order)


@st.composite
def templates_of_any_buckets(draw: st.DrawFn) -> Histogram:
    """1 to 9 buckets within 4 s, of unequal lengths, masses that tie, and some inner ones of no mass."""
    inner_edges = draw(st.integers(0, 8))
    inner = draw(st.lists(st.integers(1, 15), min_size=inner_edges, max_size=inner_edges, unique=True))
    edges_s = np.array([0, *sorted(inner), 16]) / 4 + draw(st.sampled_from([-4.0, -2.0, -3.750_001]))
    mass = [draw(st.sampled_from([0, 0, 1, 1, 2, 5])) for _ in range(len(inner) + 1)]
    mass[0], mass[-1] = max(1, mass[0]), max(1, mass[-1])
    return Histogram(edges_s, np.array(mass) / sum(mass))


@st.composite
def recorded(
    draw: st.DrawFn,
    templates: tuple[Histogram, ...] | st.SearchStrategy[Histogram] = UNIFORM,
    windows: tuple[Window, ...] = LONG_WINDOWS,
    longest: int = 14,
) -> Recorded:
    """3 to `longest` events a side, on a coarse clock (so that ties are many) or on a fine one.

    The window is one of `windows`, or exactly as long as the longest templates of both sides together.
    """
    step_us = draw(st.sampled_from([500_000, 1]))
    times = st.lists(st.integers(0, 16_000_000 // step_us).map(lambda k: k * step_us), min_size=3, max_size=longest)
    kinds = st.sampled_from(templates) if isinstance(templates, tuple) else templates

    def detections() -> Detections:
        times_us, chosen = draw(times), draw(st.lists(kinds, min_size=1, max_size=4, unique=True))
        index = st.lists(st.integers(0, len(chosen) - 1), min_size=len(times_us), max_size=len(times_us))
        return Detections(times_us, chosen, draw(index))

    a, b = detections(), detections()
    order = draw(orders_of_arrival(np.concatenate((a.detected_at_us, b.detected_at_us)).tolist()))
    threshold = draw(st.one_of(st.sampled_from(THRESHOLDS), st.floats(0.01, 0.99)))
    tight = windows_as_long_as_templates(a, b)
    window = draw(st.one_of(st.sampled_from(windows), tight) if windows else tight)
    return Recorded(a, b, order, window, threshold)


@st.composite
def windows_as_long_as_templates(draw: st.DrawFn, a: Detections, b: Detections) -> Window:
    """hi - lo is pi_a + pi_b, or the next greater float that the ends allow: no pair has room to spare."""
    longest_s = sum(max(template.length_s for template in side.templates) for side in (a, b))
    lo_s = draw(st.one_of(st.just(-longest_s / 2), st.integers(-24, 8).map(lambda half: half / 2)))
    hi_s = lo_s + longest_s
    while hi_s - lo_s < longest_s:
        hi_s = math.nextafter(hi_s, math.inf)
    return Window(lo_s=lo_s, hi_s=hi_s)


@st.composite
def orders_of_arrival(draw: st.DrawFn, times_us: list[int]) -> list[int]:
    """In order of time, shuffled within a delay, on time or as late as may be, in bursts, or in any order at all."""
    rows = range(len(times_us))
    most_us = draw(st.sampled_from([0, 2_000_000, 10_000_000, 1_000_000_000]))
    delays = draw(st.sampled_from([st.integers(0, most_us), st.sampled_from([0, most_us])]))
    delay_us = [draw(delays) for _ in rows]
    every_us = draw(st.sampled_from([1, 5_000_000]))  # what comes in one burst comes stream by stream, latest first
    arrives = [-(-(time_us + late_us) // every_us) for time_us, late_us in zip(times_us, delay_us, strict=True)]
    return sorted(rows if every_us == 1 else reversed(rows), key=arrives.__getitem__)


def long_recording(events: int = 200) -> Recorded:
    """`events` of two streams, ten a second and up to 3 s late; the same ones on every machine."""
    draw = random.Random(2006)
    times_us = [draw.randrange(100_000 * events) for _ in range(events)]
    clocks, halves = (
        [Histogram.uniform(-length_s, 0) for length_s in (0.0, 0.5, 1.2, 2.0)],
        (times_us[::2], times_us[1::2]),
    )
    a, b = (Detections(half, clocks, [k % 4 for k in range(len(half))]) for half in halves)
    arrives_us = [time_us + draw.randrange(3_000_000) for half in halves for time_us in half]
    return Recorded(a, b, sorted(range(events), key=arrives_us.__getitem__), Window(2.0), 0.7)


def random_templates(count: int, longest_ms: int, seed: int) -> list[Histogram]:
    """Templates of detection latency: 4 to 8 buckets, 1/5 to 1 times `longest_ms` long, any masses."""
    random = np.random.default_rng(seed)

    def template(length_ms: int) -> Histogram:
        buckets = int(random.integers(4, 9))
        inner_ms = 1 + random.choice(length_ms - 1, buckets - 1, replace=False)
        edges_ms = np.sort(np.concatenate(([0, length_ms], inner_ms))) - length_ms
        return Histogram(edges_ms / 1e3, random.dirichlet(np.ones(buckets)))

    return [template(int(random.integers(longest_ms // 5, longest_ms + 1))) for _ in range(count)]


def positions(pairs: Pairs | Int64Array) -> PairSet:
    """Return pairs, or the members of a paper's result, as a set; they must be sorted and none must come twice."""
    columns = (pairs.left, pairs.right) if isinstance(pairs, Pairs) else pairs.T
    listed = list(zip(*(column.tolist() for column in columns), strict=True))
    assert listed == sorted(set(listed)), "pairs come once each, by left, then right"
    return set(listed)


def streamed(streams: Recorded, most_a_push: int = 1) -> PairSet:
    """Join the events with TimingJoin, up to so many of one stream in a push, delays declared as they are."""
    recording, of_side = streams.recording, {"a": streams.a, "b": streams.b}
    declared = {
        side: Stream(side, max_delay_s=known.max_delay_us / 1e6, longest_template_s=known.longest_s)
        for side, known in recording.parameters.items()
    }
    join = TimingJoin(declared["a"], declared["b"], streams.window, streams.threshold, sensors="any")
    pairs: list[tuple[int, int]] = []
    for side, rows in pushes_of(((event.stream, event.row) for event in recording), most_a_push):
        part = of_side[side].take(np.array(rows))
        changes = join.push(side, Detections(part.detected_at_us, part.templates, part.template_index, id=rows))
        assert len(changes.late) == 0
        pairs += zip(changes.insert.left.tolist(), changes.insert.right.tolist(), strict=True)
    assert len(pairs) == len(set(pairs)), "a pair comes twice"
    return set(pairs)


def by_definition(streams: Recorded) -> tuple[PairSet, PairSet]:
    """Pairs that match and pairs that may, being at the very threshold, by the oracle."""
    window, roles = streams.window, (("a", "a"), ("b", "b"))
    query = QueryVersion("q", 1, roles, window.lo_s, window.hi_s, streams.threshold, "any")
    matches = expected_matches([*_oracle_rows("a", streams.a), *_oracle_rows("b", streams.b)], [query])
    borderline = {(int(key[1][0][2]), int(key[1][1][2])): match.borderline for key, match in matches.items()}
    return {pair for pair, may in borderline.items() if not may}, set(borderline)


def _oracle_rows(stream: str, events: Detections) -> list[Detection]:
    templates = [Template(tuple(each.edges_s.tolist()), tuple(each.mass.tolist())) for each in events.templates]
    rows = enumerate(zip(events.detected_at_us.tolist(), events.template_index.tolist(), strict=True))
    return [Detection("area", f"{stream}{row}", str(row), stream, us, templates[index]) for row, (us, index) in rows]


def central_italy_slice(
    window: Window, threshold: float, *, uniform: bool, late_s: int = 5, every_s: float = 1e-6, picks: int = 150
) -> Recorded:
    """P and S picks of a few minutes, each phase with its measured template or a uniform as long.

    They arrive up to `late_s` late, and what arrives within `every_s` comes at once.
    """
    rows = central_italy.picks(hour=4)[:picks]
    by_phase = {}
    for phase, measured in central_italy.templates().items():
        template = Histogram(measured.edges_s, measured.mass)
        known = Histogram.uniform(template.earliest_s, template.latest_s) if uniform else template
        exact = Histogram.uniform(template.earliest_s / 4, template.latest_s / 4) if uniform else template.shift(0.01)
        times_us = [pick.detected_at_us for pick in rows if pick.phase == phase]
        careful = [len(pick.station) % 2 for pick in rows if pick.phase == phase]  # half of the stations pick better
        by_phase[phase] = Detections(times_us, [known, exact], careful)
    a, b = by_phase["P"], by_phase["S"]
    reported_us = np.concatenate((a.detected_at_us, b.detected_at_us))
    late_us = np.random.default_rng(0).integers(0, late_s * 1_000_000 + 1, len(reported_us))
    order: list[int] = np.argsort((reported_us + late_us) // round(every_s * 1e6), kind="stable").tolist()
    return Recorded(a, b, order, window, threshold)
