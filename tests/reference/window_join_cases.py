"""Hypothesis strategies for window joins: a graph, small frames with everything that ties, and how they arrive.

Template edges, windows and times are whole halves of a second, so that joint probabilities can be counted exactly.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Detections, Histogram, Window
from coincide.constraints import SensorRule
from tests.reference.constraint_graphs import EDGE_THRESHOLDS, FORMS, Form, satisfied_graphs
from tests.reference.window_join import Push, pushes_of

HALF_SECOND_US = 500_000
EXACT = (Histogram.point(), Histogram.point().shift(0.5))
UNCERTAIN = (
    Histogram.uniform(-1, 0),
    Histogram.uniform(-0.5, 1),
    Histogram.from_latency([(0, 0.5, 0.6), (0.5, 1, 0.3), (1, 2, 0.1)]),
    Histogram([-1, -0.5, 0.5, 1], [0.5, 0, 0.5]),  # no mass inside
    Histogram([-0.5, 0, 0, 0.5], [0.25, 0.5, 0.25]),  # an atom inside
)
# no ratio of small numbers, as joint probabilities are: none lies within 1e-12 of them
JOINT_THRESHOLDS = (0.5 + 1e-7, 0.25 - 1e-7, 0.1 + 1e-7, 0.75 + 1e-7, 0.02 - 1e-7, 0.95 + 1e-7, 1e-9)

# a rule, and whether one sensor reports everything; else each stream has its own beside one that all share
SENSORS: tuple[tuple[SensorRule, bool], ...] = (
    *(("different", False), ("different", False), ("any", False)),
    *(("any", True), ("same", True), ("same", False)),
)
MOST_WITH_JOINT = 4  # streams; the cells of more are too many to count for every example


@dataclass(frozen=True)
class WindowJoinCase:
    """What a window join is asked; `asked` are its keyword arguments."""

    frames: dict[str, Detections]
    graph: ConstraintGraph
    key: dict[str, npt.NDArray[np.str_]] | None
    threshold: float | None
    sensors: SensorRule

    @property
    def asked(self) -> dict[str, Any]:
        return {"key": self.key, "threshold": self.threshold, "sensors": self.sensors}


@st.composite
def detections(
    draw: st.DrawFn,
    templates: tuple[Histogram, ...] = EXACT[:1] + UNCERTAIN,
    most_rows: int = 4,
    near_s: int = 0,
    areas: tuple[str, ...] = ("bay", "bay", "sea"),
    sensors: tuple[str, ...] = ("s1", "s2", "s3"),
) -> Detections:
    """Up to `most_rows` events in any order of time, around `near_s` and 3 s later, ties many.

    Often the first one is at `near_s`, in the first area and of the first sensor: a member of some result.
    """
    rows = draw(st.sampled_from([*range(most_rows, 0, -1), *range(most_rows, -1, -1)]))
    planted = min(rows, draw(st.sampled_from([1, 1, 0])))
    chosen = draw(st.lists(st.sampled_from(templates), min_size=1, max_size=3, unique=True))

    def column(values: Sequence[Any]) -> list[Any]:
        others = st.lists(st.sampled_from(values), min_size=rows - planted, max_size=rows - planted)
        return [values[0]] * planted + draw(others)

    times_us = [near_s * 1_000_000 + half * HALF_SECOND_US for half in column([0, 0, 0, 1, -1, 2, 6, 7])]
    index = column(range(len(chosen)))
    return Detections(times_us, chosen, index, area=column(areas), sensor=column(sensors), id=range(rows))


@st.composite
def window_joins(
    draw: st.DrawFn,
    forms: tuple[Form, ...] = FORMS,
    fewest: int = 2,
    most: int = 6,
    *,
    certain: bool = False,
    with_joint: bool | None = None,
    most_choices: int = 800,
) -> WindowJoinCase:
    """Graphs, frames and what else is asked, with at most about `most_choices` of one event a stream.

    `certain`: exact times, and windows without a threshold too. `with_joint` None: a joint threshold now and then.
    """
    if with_joint is None:
        with_joint = fewest <= MOST_WITH_JOINT and not certain and draw(st.booleans())
    some: tuple[float | None, ...] = (None, None, None, 0.05, 0.5) if with_joint else (None, None, *EDGE_THRESHOLDS)
    largest = min(most, MOST_WITH_JOINT) if with_joint else most
    thresholds = some if with_joint or certain else EDGE_THRESHOLDS
    graph, near_s = draw(satisfied_graphs(forms, fewest, largest, thresholds))
    most_rows = max(2, int(most_choices ** (1 / len(graph.roles))))
    templates = EXACT if certain else EXACT[:1] + UNCERTAIN
    areas = draw(st.sampled_from([("bay",), ("bay", "bay", "bay", "sea")]))
    rule, everywhere = draw(st.sampled_from(SENSORS))
    sensors = {name: ("everywhere",) if everywhere else (name, name, name, "s1") for name in graph.roles}
    frames = {name: draw(detections(templates, most_rows, near_s[name], areas, sensors[name])) for name in graph.roles}
    key = {name: draw(_keys(len(rows))) for name, rows in frames.items()} if draw(st.integers(0, 3)) == 0 else None
    threshold = draw(st.sampled_from(JOINT_THRESHOLDS)) if with_joint else None
    return WindowJoinCase(frames, graph, key, threshold, rule)


def _keys(rows: int) -> st.SearchStrategy[npt.NDArray[np.str_]]:
    return st.lists(st.sampled_from("xxxy"), min_size=rows, max_size=rows).map(lambda key: np.array(key, dtype=np.str_))


def partly_required(graph: ConstraintGraph) -> st.SearchStrategy[AtLeast]:
    """Every way to let some roles be absent that leaves those present connected, whichever they are."""
    some = [of for size in range(1, len(graph.roles)) for of in combinations(graph.roles, size)]
    given = [AtLeast(count, of) for of in some for count in range(len(of) + 1) if _is_allowed(graph, count, of)]
    return st.sampled_from(given)


def _is_allowed(graph: ConstraintGraph, count: int, of: tuple[str, ...]) -> bool:
    required = [role for role in graph.roles if role not in of]
    tied = all(set(graph.neighbours(role)) & set(required) for role in of)
    return len(required) + count >= 2 and tied and is_connected(graph, required)


def is_connected(graph: ConstraintGraph, roles: Collection[str]) -> bool:
    """Whether edges between some roles connect them."""
    reached = set(list(roles)[:1])
    for _ in roles:
        reached |= {other for role in reached for other in graph.neighbours(role) if other in roles}
    return reached == set(roles)


@st.composite
def self_joins(draw: st.DrawFn, most_rows: int = 6) -> WindowJoinCase:
    """Exact times of one frame in 2 to 4 roles, of two frames beside each other, in graphs of any form."""
    graph, _ = draw(satisfied_graphs(FORMS, 2, 4, (None, 1.0), alike=draw(st.booleans())))
    both = [draw(detections(EXACT, most_rows, sensors=("s1", "s2", "s3", "s4"))) for _ in range(2)]
    frames = {name: both[draw(st.sampled_from([0, 0, 1]))] for name in graph.roles}
    return WindowJoinCase(frames, graph, None, None, draw(st.sampled_from([rule for rule, _ in SENSORS])))


@st.composite
def sets_of_one_stream(draw: st.DrawFn) -> WindowJoinCase:
    """One frame in all 3 or 4 roles of a clique that can all be swapped, so that a match is a set of its events."""
    roles = "abcd"[: draw(st.integers(3, 4))]
    frame = draw(detections(most_rows=7, areas=("bay", "bay", "bay", "sea"), sensors=("s1", "s2", "s3", "s4")))
    graph = ConstraintGraph.clique(roles, Window(draw(st.sampled_from([0.5, 1, 3]))), draw(st.sampled_from([0.3, 0.9])))
    threshold = draw(st.sampled_from([None, None, *JOINT_THRESHOLDS]))
    return WindowJoinCase(
        dict.fromkeys(roles, frame), graph, None, threshold, draw(st.sampled_from(["different", "any"]))
    )


@st.composite
def pushes(draw: st.DrawFn, frames: dict[str, Detections], most_together: int = 1) -> list[Push]:
    """Every event of every stream once, in any order: in pushes of up to `most_together` of one stream."""
    events = draw(st.permutations([(name, row) for name, frame in frames.items() for row in range(len(frame))]))
    return pushes_of(events, most_together)
