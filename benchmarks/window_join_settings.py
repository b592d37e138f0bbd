"""What competitors of `window_join` are asked: random exact times, and a graph of one of three forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from coincide import ConstraintGraph, Window

TimeArray = npt.NDArray[np.int64]
Sums = tuple[int, ...]  # tuples, then xor of the positions of each stream
Answer = tuple[Any, ...]  # Sums, or a column for each stream
Join = Callable[[], Answer]
Kind = Literal["members", "sums"]
Bound = tuple[str, str, int, int]  # a, b and the closed range of t_b - t_a in microseconds

SPACING_US = 10_000
# form, streams, events a stream, partners
SETTINGS = (
    ("clique", 3, 300_000, 10.0),
    ("clique", 4, 300_000, 4.0),
    ("clique", 5, 300_000, 2.0),
    ("path", 3, 300_000, 8.0),
    ("path", 4, 300_000, 3.0),
    ("ring", 4, 300_000, 3.0),
)


@dataclass(frozen=True)
class WindowJoinWanted:
    """Every tuple of one event a stream that satisfies all windows of the graph, on exact times.

    Attributes
    ----------
    times_us : mapping of stream to ndarray of int64
    graph : ConstraintGraph
        Its thresholds do not count.
    kind : {"members", "sums"}
        All members in columns, one array of positions a stream; or their count and a bitwise xor of each stream's, for
        which nobody has to keep a tuple.
    threads : int
        How many a peer may use.
    """

    times_us: Mapping[str, TimeArray]
    graph: ConstraintGraph
    kind: Kind
    threads: int

    @property
    def bounds(self) -> list[Bound]:
        """One of each edge."""
        return [(edge.a, edge.b, edge.window.lo_us, edge.window.hi_us) for edge in self.graph.edges]


def sums_of(answer: Answer, streams: int) -> Sums:
    """Return what every answer has to agree on; columns are summed up, outside the measured time."""
    if len(answer) == 1 + streams:
        return tuple(int(each) for each in answer)
    columns = [np.asarray(column) for column in answer]
    return len(columns[0]), *(int(np.bitwise_xor.reduce(column)) for column in columns)


def wanted_of(form: str, streams: int, events: int, partners: float, kind: Kind, threads: int = 1) -> WindowJoinWanted:
    """Return random times in order; each event has so many partners, on average, in every stream it has an edge to.

    Forms: clique (uniform), path (each stream up to a window after the one before it) and ring (a cycle of symmetric
    windows, the diagonals barred).
    """
    names = [chr(ord("a") + at) for at in range(streams)]
    rng = np.random.default_rng(streams)
    times_us = {name: np.sort(rng.integers(0, events * SPACING_US, events)) for name in names}
    near, after = Window(partners * SPACING_US / 2e6), Window(lo_s=0, hi_s=partners * SPACING_US / 1e6)
    graph = {
        "clique": lambda: ConstraintGraph.clique(names, near),
        "path": lambda: ConstraintGraph.path(names, after),
        "ring": lambda: ConstraintGraph.graph([(a, b, near) for a, b in pairwise([*names, names[0]])]),
    }[form]()
    return WindowJoinWanted(times_us, graph, kind, threads)
