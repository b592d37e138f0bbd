"""The window join at exact times, straight from its definition, and random joins to ask it about."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

from hypothesis import assume
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Histogram, Window
from coincide.errors import GraphError
from coincide.papers.recording import Recording

Streams = Mapping[str, Detections]

ATOMS = (Histogram.point(), Histogram.point().shift(-1.5), Histogram.point().shift(0.25))
HALF_WIDTHS_S = (0.0, 0.5, 1.0, 2.5, 4.0)
WINDOWS = (
    *(Window(half_s) for half_s in HALF_WIDTHS_S),
    *(Window(lo_s=lo_s, hi_s=hi_s) for lo_s, hi_s in ((0.0, 3.0), (-2.0, 0.5), (1.0, 4.0), (-5.0, -0.5))),
    *(Window.deadline(1.0), Window.delay(-0.5)),
)
MOST_ROWS = {2: 10, 3: 7, 4: 5, 5: 4}


@dataclass(frozen=True)
class RecordedJoin:
    """Streams, how they arrive, and what is asked of them."""

    by_stream: Streams
    order: list[int]
    graph: ConstraintGraph
    key: Mapping[str, Sequence[str]] | None
    predicate: Callable[[str, int, str, int], bool] | None

    @property
    def recording(self) -> Recording:
        return Recording(self.by_stream, self.order, self.key)

    @property
    def expected(self) -> list[list[int]]:
        """The rows of every result by definition, a column for each stream of the graph, in order."""
        roles, at_s = self.graph.roles, {stream: _occurred_s(rows) for stream, rows in self.by_stream.items()}
        every = product(*(range(len(self.by_stream[stream])) for stream in roles))
        return [list(rows) for rows in every if self._is_result(dict(zip(roles, rows, strict=True)), at_s)]

    def _is_result(self, rows: Mapping[str, int], at_s: Mapping[str, list[Fraction]]) -> bool:
        if self.key is not None and len({self.key[stream][row] for stream, row in rows.items()}) > 1:
            return False
        for edge in self.graph.edges:
            later_s = at_s[edge.b][rows[edge.b]] - at_s[edge.a][rows[edge.a]]
            if not edge.window.lo_s <= later_s <= edge.window.hi_s:  # a fraction and a float compare exactly
                return False
            if self.predicate is not None and not self.predicate(edge.a, rows[edge.a], edge.b, rows[edge.b]):
                return False
        return True


def _occurred_s(rows: Detections) -> list[Fraction]:
    atoms_s = [Fraction(rows.templates[index].earliest_s) for index in rows.template_index.tolist()]
    return [Fraction(us, 10**6) + atom_s for us, atom_s in zip(rows.detected_at_us.tolist(), atoms_s, strict=True)]


def arriving(order: str) -> Recording:
    """Exact times that arrive as listed: "b6 a5" are two, at 6 us of stream b and 5 us of a; rows are in that order."""
    tuples = [(each[0], int(each[1:])) for each in order.split()]
    streams = sorted({stream for stream, _ in tuples})
    times_us = {name: [time_us for stream, time_us in tuples if stream == name] for name in streams}
    rows = sorted(range(len(tuples)), key=lambda at: (tuples[at][0], at))
    by_stream = {stream: Detections(column, [Histogram.point()]) for stream, column in times_us.items()}
    return Recording(by_stream, sorted(range(len(rows)), key=rows.__getitem__))


@st.composite
def recorded_joins(draw: st.DrawFn, *, uniform: bool) -> RecordedJoin:
    """2 to 5 streams on a coarse clock (ties are many), in all orders of arrival."""
    streams = tuple("abcde"[: draw(st.integers(2, 5))])
    uniform_cliques = st.sampled_from(HALF_WIDTHS_S).map(lambda half_s: ConstraintGraph.clique(streams, Window(half_s)))
    graph = draw(uniform_cliques if uniform else _graphs(streams))
    by_stream = {stream: draw(_detections(MOST_ROWS[len(streams)])) for stream in draw(st.permutations(streams))}
    keys = {each: st.lists(st.sampled_from("xy"), min_size=len(r), max_size=len(r)) for each, r in by_stream.items()}
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
    return Detections(times_us, ATOMS, draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))


@st.composite
def _graphs(draw: st.DrawFn, streams: tuple[str, ...]) -> ConstraintGraph:
    """A random tree, and any other edges."""
    tree = [(streams[draw(st.integers(0, at - 1))], streams[at]) for at in range(1, len(streams))]
    others = [pair for pair in combinations(streams, 2) if pair not in tree and draw(st.booleans())]
    turned = [pair[::-1] if draw(st.booleans()) else pair for pair in tree + others]
    edges = [(a, b, draw(st.sampled_from(WINDOWS))) for a, b in turned]
    try:
        return ConstraintGraph.graph(edges, draw(st.permutations(streams)))
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
