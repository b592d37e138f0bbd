"""The window join at exact times, straight from its definition, and random joins to ask it about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from hypothesis import assume
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Edge, Histogram, Window
from coincide.errors import GraphError
from coincide.papers.recording import Recording

Streams = Mapping[str, Detections]
Keys = Mapping[str, Sequence[int | str]]
Predicate = Callable[[str, int, str, int], bool]

ATOMS = (Histogram.point(), Histogram.point().shift(-1.5), Histogram.point().shift(0.25))
HALF_WIDTHS_S = (0.0, 0.5, 1.0, 2.5, 4.0)
WINDOWS = (
    *(Window(half_s) for half_s in HALF_WIDTHS_S),
    Window(lo_s=0.0, hi_s=3.0),
    Window(lo_s=-2.0, hi_s=0.5),
    Window(lo_s=1.0, hi_s=4.0),
    Window(lo_s=-5.0, hi_s=-0.5),
    Window.deadline(1.0),
    Window.delay(-0.5),
)
MOST_ROWS = {2: 10, 3: 7, 4: 5, 5: 4}


def by_definition(
    by_stream: Streams, graph: ConstraintGraph, key: Keys | None = None, predicate: Predicate | None = None
) -> list[list[int]]:
    """Return the rows of every result, a column for each stream of the graph, in order."""
    at_s = {stream: _occurred_s(rows) for stream, rows in by_stream.items()}
    every = product(*(range(len(by_stream[stream])) for stream in graph.roles))
    chosen = (dict(zip(graph.roles, rows, strict=True)) for rows in every)
    return [
        list(rows.values())
        for rows in chosen
        if (key is None or len({key[stream][row] for stream, row in rows.items()}) == 1)
        and all(_holds(edge, rows, at_s) for edge in graph.edges)
        and (predicate is None or all(predicate(e.a, rows[e.a], e.b, rows[e.b]) for e in graph.edges))
    ]


def _holds(edge: Edge, rows: Mapping[str, int], at_s: Mapping[str, list[Fraction]]) -> bool:
    later_s = at_s[edge.b][rows[edge.b]] - at_s[edge.a][rows[edge.a]]
    return edge.window.lo_s <= later_s <= edge.window.hi_s  # a fraction and a float compare exactly


def _occurred_s(rows: Detections) -> list[Fraction]:
    atoms_s = [Fraction(rows.templates[index].earliest_s) for index in rows.template_index.tolist()]
    return [Fraction(us, 10**6) + atom_s for us, atom_s in zip(rows.detected_at_us.tolist(), atoms_s, strict=True)]


@dataclass(frozen=True)
class RecordedJoin:
    """Streams, how they arrive, and what is asked of them."""

    by_stream: Streams
    order: list[int]
    graph: ConstraintGraph
    key: Keys | None
    predicate: Predicate | None

    @property
    def recording(self) -> Recording:
        return Recording(self.by_stream, self.order, self.key)

    @property
    def expected(self) -> list[list[int]]:
        return by_definition(self.by_stream, self.graph, self.key, self.predicate)


def arriving(order: Sequence[tuple[str, int]]) -> Recording:
    """Streams whose tuples (stream, microsecond) arrive as listed; rows are numbered as they arrive."""
    rows = sorted(range(len(order)), key=lambda at: (order[at][0], at))
    times_us: Mapping[str, list[int]] = {stream: [] for stream in sorted({stream for stream, _ in order})}
    for stream, time_us in order:
        times_us[stream].append(time_us)
    exact = [Histogram.point()]
    by_stream = {stream: Detections(column, exact) for stream, column in times_us.items()}
    return Recording(by_stream, sorted(range(len(rows)), key=rows.__getitem__))


@st.composite
def recorded_joins(draw: st.DrawFn, *, uniform: bool) -> RecordedJoin:
    """2 to 5 streams on a coarse clock (ties are many), in all orders of arrival."""
    streams = tuple("abcde"[: draw(st.integers(2, 5))])
    uniform_cliques = st.sampled_from(HALF_WIDTHS_S).map(lambda half_s: ConstraintGraph.clique(streams, Window(half_s)))
    graph = draw(uniform_cliques if uniform else _graphs(streams))
    by_stream = {stream: draw(_detections(MOST_ROWS[len(streams)])) for stream in draw(st.permutations(streams))}
    counts = {each: len(rows) for each, rows in by_stream.items()}
    keys = {each: st.lists(st.sampled_from("xy"), min_size=n, max_size=n) for each, n in counts.items()}
    key = draw(st.none() | st.fixed_dictionaries(keys))
    return RecordedJoin(by_stream, draw(_orders(by_stream)), graph, key, draw(st.sampled_from([None, _are_similar])))


def _are_similar(stream_a: str, row_a: int, stream_b: str, row_b: int) -> bool:
    """Tells a from b, and says no to one pair in seven."""
    return (ord(stream_a) + 2 * row_a + 3 * ord(stream_b) + 5 * row_b) % 7 > 0


@st.composite
def _detections(draw: st.DrawFn, most_rows: int) -> Detections:
    beside_us = draw(st.sampled_from([st.just(0), st.integers(-1, 1)]))  # right at the ends of windows, or beside
    rows = draw(st.integers(most_rows // 2, most_rows))
    times_us = [500_000 * draw(st.integers(0, 8)) + draw(beside_us) for _ in range(rows)]
    index = draw(st.lists(st.integers(0, 2), min_size=len(times_us), max_size=len(times_us)))
    return Detections(times_us, ATOMS, index)


@st.composite
def _graphs(draw: st.DrawFn, streams: tuple[str, ...]) -> ConstraintGraph:
    """A random tree, and any other edges."""
    windows = st.sampled_from(WINDOWS)
    tree = [(streams[draw(st.integers(0, at - 1))], streams[at]) for at in range(1, len(streams))]
    others = [pair for pair in combinations(streams, 2) if pair not in tree and draw(st.booleans())]
    turned = [pair[::-1] if draw(st.booleans()) else pair for pair in tree + others]
    try:
        return ConstraintGraph.graph([(a, b, draw(windows)) for a, b in turned], draw(st.permutations(streams)))
    except GraphError:  # windows that contradict each other
        assume(False)
        raise


@st.composite
def _orders(draw: st.DrawFn, by_stream: Streams) -> list[int]:
    """In order of time, each stream delayed by its own, each tuple by its own, or in any order at all."""
    most_us = draw(st.sampled_from([0, 1_000_000, 4_000_000, 100_000_000]))
    own = draw(st.sampled_from([0, 2_000_000]))
    arrives_us: list[int] = []
    for rows in by_stream.values():
        stream_us = draw(st.integers(0, most_us))
        arrives_us += [time_us + stream_us + draw(st.integers(0, own)) for time_us in rows.earliest_us.tolist()]
    return sorted(range(len(arrives_us)), key=arrives_us.__getitem__)
