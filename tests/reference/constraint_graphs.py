"""Hypothesis strategies for window joins: graphs of 2 to 6 streams, and small frames with everything that ties.

Template edges, windows and times are whole halves of a second, so that joint probabilities can be counted exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

from hypothesis import strategies as st

from coincide import Detections, Histogram, Window
from coincide.window_join import ConstraintGraph, Edge

Form = Literal["path", "tree", "cyclic", "clique", "uniform clique"]

HALF_SECOND_US = 500_000
STREAMS = ("a", "b", "c", "d", "e", "f")
FORMS: tuple[Form, ...] = ("path", "tree", "cyclic", "clique", "uniform clique")
CLIQUES: tuple[Form, ...] = ("clique", "uniform clique")
EXACT = (Histogram.point(), Histogram.point().shift(0.5))
UNCERTAIN = (
    Histogram.uniform(-1, 0),
    Histogram.uniform(-0.5, 1),
    Histogram.from_latency([(0, 0.5, 0.6), (0.5, 1, 0.3), (1, 2, 0.1)]),
    Histogram([-1, -0.5, 0.5, 1], [0.5, 0, 0.5]),  # no mass inside
    Histogram([-0.5, 0, 0, 0.5], [0.25, 0.5, 0.25]),  # an atom inside
)
EDGE_THRESHOLDS = (1.0, 0.999_999_999, 0.8, 0.5, 1 / 3, 0.25, 0.05, 1e-9)
# no ratio of small numbers, as joint probabilities are: none lies within 1e-12 of them
JOINT_THRESHOLDS = (0.9 + 1e-7, 0.5 + 1e-7, 0.25 - 1e-7, 0.1 + 1e-7, 0.02 - 1e-7, 1e-9)

MOST_WITH_JOINT = 4  # streams; the cells of more are too many to count for every example


@dataclass(frozen=True)
class WindowJoinCase:
    """What a window join is asked; `asked` are its keyword arguments."""

    frames: dict[str, Detections]
    graph: ConstraintGraph
    key: dict[str, list[str]] | None
    threshold: float | None
    sensors: Literal["different", "same", "any"]

    @property
    def asked(self) -> dict[str, Any]:
        return {"key": self.key, "threshold": self.threshold, "sensors": self.sensors}


@st.composite
def constraint_graphs(
    draw: st.DrawFn,
    forms: tuple[Form, ...] = FORMS,
    fewest: int = 2,
    most: int = 6,
    thresholds: tuple[float | None, ...] = EDGE_THRESHOLDS,
) -> ConstraintGraph:
    """Connected graphs whose windows some times satisfy together; None among thresholds: an edge without one."""
    form = draw(st.sampled_from(forms))
    streams = STREAMS[: draw(st.integers(fewest, most))]
    pairs = draw(_pairs(form, streams))
    half_width = Window(draw(st.integers(0, 6)) / 2)
    lies_s = dict(zip(streams, draw(st.lists(st.integers(-2, 2), min_size=6, max_size=6)), strict=False))
    least = draw(st.sampled_from(thresholds))
    edges = [
        Edge(a, b, half_width, least)
        if form == "uniform clique"
        else Edge(a, b, draw(_windows(lies_s[b] - lies_s[a])), draw(st.sampled_from(thresholds)))
        for a, b in pairs
    ]
    return ConstraintGraph.graph(edges, streams=draw(st.permutations(streams)))


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
    below, above = draw(st.integers(0, 6)) / 2, draw(st.integers(0, 6)) / 2
    if draw(st.booleans()):
        return Window(abs(inside_s) + below)
    return Window(lo_s=inside_s - below, hi_s=inside_s + above)


@st.composite
def detections(
    draw: st.DrawFn, templates: tuple[Histogram, ...], most_rows: int, longest_s: int = 6, step_us: int = HALF_SECOND_US
) -> Detections:
    """Up to `most_rows` events in any order of time, ties many, of three sensors in two areas."""
    rows = draw(st.integers(0, most_rows))
    chosen = draw(st.lists(st.sampled_from(templates), min_size=1, max_size=3, unique=True))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=rows, max_size=rows))

    return Detections(
        column(st.integers(0, longest_s * 1_000_000 // step_us).map(lambda steps: steps * step_us)),
        chosen,
        column(st.integers(0, len(chosen) - 1)),
        area=column(st.sampled_from(["bay", "bay", "sea"])),
        sensor=column(st.sampled_from(["s1", "s2", "s3", "s4", "s5"])),
        id=list(range(rows)),
    )


@st.composite
def window_joins(
    draw: st.DrawFn,
    forms: tuple[Form, ...] = FORMS,
    fewest: int = 2,
    most: int = 6,
    *,
    certain: bool = False,
    with_joint: bool = True,
    most_choices: int = 400,
) -> WindowJoinCase:
    """Graphs, frames and what else is asked; `certain`: exact times, and windows without a threshold too.

    `with_joint` allows a joint threshold: of uncertain times only, and of up to 4 streams.
    """
    joint = with_joint and not certain and draw(st.booleans())
    thresholds: tuple[float | None, ...] = (None, *EDGE_THRESHOLDS) if certain or joint else EDGE_THRESHOLDS
    graph = draw(
        constraint_graphs(forms, min(fewest, 4) if joint else fewest, min(most, 4) if joint else most, thresholds)
    )
    rows = max(2, int(most_choices ** (1 / len(graph.streams))))
    templates = EXACT if certain else EXACT[:1] + UNCERTAIN
    frames = {name: draw(detections(templates, rows)) for name in graph.streams}
    labels = {
        name: draw(st.lists(st.sampled_from("xy"), min_size=len(frame), max_size=len(frame)))
        for name, frame in frames.items()
    }
    return WindowJoinCase(
        frames,
        graph,
        key=labels if draw(st.integers(0, 3)) == 0 else None,
        threshold=draw(st.sampled_from(JOINT_THRESHOLDS)) if joint else None,
        sensors=draw(st.sampled_from(["any", "any", "different", "same"])),
    )


@st.composite
def pushes(draw: st.DrawFn, frames: dict[str, Detections], most_together: int = 1) -> list[tuple[str, list[int]]]:
    """Every event of every stream once, in any order: in pushes of up to `most_together` of one stream."""
    events = draw(st.permutations([(name, row) for name, frame in frames.items() for row in range(len(frame))]))
    made: list[tuple[str, list[int]]] = []
    for stream, row in events:
        if made and made[-1][0] == stream and len(made[-1][1]) < most_together:
            made[-1][1].append(row)
        else:
            made.append((stream, [row]))
    return made
