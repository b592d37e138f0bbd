"""Hypothesis strategies for graphs of 2 to 6 streams; windows are whole halves of a second."""

from itertools import combinations, pairwise
from typing import Literal

from hypothesis import strategies as st

from coincide import ConstraintGraph, Edge, Window

Form = Literal["path", "tree", "cyclic", "clique", "uniform clique"]

STREAMS = ("a", "b", "c", "d", "e", "f")
FORMS: tuple[Form, ...] = ("path", "tree", "cyclic", "clique", "uniform clique")
CLIQUES: tuple[Form, ...] = ("clique", "uniform clique")
EDGE_THRESHOLDS = (0.05, 1e-9, 0.25, 0.5, 1 / 3, 0.8, 0.999_999_999, 1.0)
REACHES_S = st.sampled_from([1.0, 2.0, 3.0, 1.5, 0.5, 0.0])  # a window's, from a time that satisfies it


def constraint_graphs(
    forms: tuple[Form, ...] = FORMS, fewest: int = 2, most: int = 6
) -> st.SearchStrategy[ConstraintGraph]:
    """Connected graphs whose windows some times satisfy together."""
    return satisfied_graphs(forms, fewest, most, EDGE_THRESHOLDS).map(lambda graph_and_times: graph_and_times[0])


@st.composite
def satisfied_graphs(
    draw: st.DrawFn,
    forms: tuple[Form, ...],
    fewest: int,
    most: int,
    thresholds: tuple[float | None, ...],
    *,
    alike: bool = False,
) -> tuple[ConstraintGraph, dict[str, int]]:
    """A graph, and a time of each stream in seconds that satisfies it; threshold None: an edge without one.

    `alike`: one or two symmetric windows in all.
    """
    form = draw(st.sampled_from(forms))
    streams = STREAMS[: draw(st.integers(fewest, most))]
    least = draw(st.lists(st.sampled_from(thresholds), min_size=1, max_size=2))
    if form == "uniform clique":
        time_s, half_width = dict.fromkeys(streams, 0), Window(draw(REACHES_S))
    else:
        time_s = {stream: 0 if alike else draw(st.integers(-2, 2)) for stream in streams}
    some = st.sampled_from([Window(reach_s) for reach_s in draw(st.lists(REACHES_S, min_size=1, max_size=2))])
    edges = [
        Edge(a, b, half_width, least[0])
        if form == "uniform clique"
        else Edge(a, b, draw(some if alike else _windows(time_s[b] - time_s[a])), draw(st.sampled_from(least)))
        for a, b in draw(_pairs(form, streams))
    ]
    return ConstraintGraph.graph(edges, roles=draw(st.permutations(streams))), time_s


@st.composite
def _pairs(draw: st.DrawFn, form: Form, streams: tuple[str, ...]) -> list[tuple[str, str]]:
    if form in CLIQUES:
        pairs = list(combinations(streams, 2))
    elif form == "path":
        pairs = list(pairwise(streams))
    else:
        pairs = [(streams[draw(st.integers(0, at - 1))], streams[at]) for at in range(1, len(streams))]
    if form == "cyclic":
        others = [pair for pair in combinations(streams, 2) if pair not in pairs]
        pairs += draw(st.lists(st.sampled_from(others), min_size=1, unique=True)) if others else []
    turned = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return [(b, a) if turn else (a, b) for (a, b), turn in zip(pairs, turned, strict=True)]


@st.composite
def _windows(draw: st.DrawFn, inside_s: int) -> Window:
    """Symmetric, asymmetric or ordered windows around a time, down to a single one."""
    below, above = draw(REACHES_S), draw(REACHES_S)
    if draw(st.booleans()):
        return Window(abs(inside_s) + below)
    return Window(lo_s=inside_s - below, hi_s=inside_s + above)
