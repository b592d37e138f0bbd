"""Templates side by side in arrays, as the kernels read them: one by one, or in pairs of one shape.

Templates are filled up with empty buckets to 1, 2, 4, 6, 8, 12, 16, ... so that few shapes, and so few blocks, remain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from coincide.arrays.exact_sums import ExactSum, difference_of
from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray
from coincide.arrays.order import group_starts, stable_order
from coincide.errors import HistogramError
from coincide.templates.clocked import ClockedHistogram, are_clocked, clock_of, own_of
from coincide.templates.histogram import Histogram


def checked_template(field: str, template: object) -> Histogram:
    """Return `template` if it is a Histogram, else raise HistogramError."""
    if not isinstance(template, Histogram):
        raise HistogramError(field, template, "a Histogram, such as Histogram.uniform(-1, 1)")
    return template


def checked_templates(field: str, templates: object) -> tuple[Histogram, ...]:
    """Return `templates` as a tuple if they are Histograms, else raise HistogramError."""
    if not isinstance(templates, Iterable):
        raise HistogramError(field, templates, "a list of Histogram")
    listed = tuple(templates)
    if not set(map(type, listed)) <= {Histogram, ClockedHistogram}:  # much faster than to look at each
        for position, template in enumerate(listed):
            checked_template(f"{field}[{position}]", template)
    return listed


@dataclass(frozen=True, eq=False)
class TemplateColumns:
    """Templates with the same number of buckets, one per column; atoms, which `has_atoms` tells of, have density 0."""

    edges_s: FloatArray
    mass: FloatArray
    length_s: FloatArray
    density: FloatArray
    has_atoms: BoolArray

    @classmethod
    def of(cls, templates: Sequence[Histogram], buckets: int) -> TemplateColumns:
        """Stack templates of at most `buckets` buckets; empty ones of zero length fill them up at the end."""
        edges = np.empty((buckets + 1, len(templates)))
        mass = np.zeros((buckets, len(templates)))
        for column, template in enumerate(templates):
            count = len(template.mass)
            edges[: count + 1, column] = template.edges_s
            edges[count + 1 :, column] = template.edges_s[-1]
            mass[:count, column] = template.mass
        length = np.diff(edges, axis=0)
        density = np.divide(mass, length, out=np.zeros_like(mass), where=length > 0)
        return cls(edges, mass, length, density, has_atoms=((length == 0) & (mass > 0)).any(axis=0))

    def __len__(self) -> int:
        return int(self.mass.shape[1])

    def take(self, index: IndexArray) -> TemplateColumns:
        """Return the columns at `index`, shape (n,), repeated as often as it names them."""
        return TemplateColumns(
            self.edges_s.take(index, axis=1),
            self.mass.take(index, axis=1),
            self.length_s.take(index, axis=1),
            self.density.take(index, axis=1),
            self.has_atoms[index],
        )


ELEMENTS_PER_BLOCK = 262_144  # bucket pairs times template pairs: a few MB for each array of their terms


@dataclass(frozen=True, eq=False)
class TemplatePairs:
    """Pairs (us[u_index[n]], vs[v_index[n]]), in any order and as often as wanted.

    Where both are on one clock, it cancels: the pair has then what is their own of both, appended to `us` and `vs`.
    """

    us: Sequence[Histogram]
    vs: Sequence[Histogram]
    u_index: IndexArray
    v_index: IndexArray

    def __post_init__(self) -> None:
        if are_clocked(self.us) and are_clocked(self.vs):
            self._take_own_on_one_clock()

    def __len__(self) -> int:
        return len(self.u_index)

    def _take_own_on_one_clock(self) -> None:
        clocks: dict[str | None, int] = {None: -1}
        of_u, of_v = (
            np.array([clocks.setdefault(clock_of(each), len(clocks)) for each in side]) for side in (self.us, self.vs)
        )
        clock = of_u[self.u_index]
        shared = (clock >= 0) & (clock == of_v[self.v_index])
        if not shared.any():  # or they have their own already
            return
        for side, index in (("us", "u_index"), ("vs", "v_index")):
            whole, at = getattr(self, side), getattr(self, index)
            object.__setattr__(self, side, (*whole, *map(own_of, whole)))
            object.__setattr__(self, index, np.where(shared, at + len(whole), at))

    def swapped(self) -> TemplatePairs:
        """Return the same pairs, each the other way round."""
        return TemplatePairs(self.vs, self.us, self.v_index, self.u_index)

    def take(self, rows: IndexArray) -> TemplatePairs:
        """Return the pairs at `rows`."""
        return TemplatePairs(self.us, self.vs, self.u_index[rows], self.v_index[rows])

    def earliest_s(self) -> ExactSum:
        """Least possible Xv - Xu, shape (n,)."""
        u_latest, v_earliest = _ends(self.us, -1), _ends(self.vs, 0)
        return difference_of(v_earliest[self.v_index], u_latest[self.u_index])

    def latest_s(self) -> ExactSum:
        """Greatest possible Xv - Xu, shape (n,)."""
        u_earliest, v_latest = _ends(self.us, 0), _ends(self.vs, -1)
        return difference_of(v_latest[self.v_index], u_earliest[self.u_index])

    def mean_s(self) -> FloatArray:
        """Mean of Xv - Xu, shape (n,)."""
        u_mean, v_mean = (np.array([template.mean_s for template in side]) for side in (self.us, self.vs))
        mean: FloatArray = v_mean[self.v_index] - u_mean[self.u_index]
        return mean

    def std_s(self) -> FloatArray:
        """Return the standard deviation of Xv - Xu, shape (n,)."""
        u_std, v_std = (np.array([template.std_s for template in side]) for side in (self.us, self.vs))
        std: FloatArray = np.hypot(v_std[self.v_index], u_std[self.u_index])
        return std

    def blocks(
        self, elements: int = ELEMENTS_PER_BLOCK
    ) -> Iterator[tuple[IndexArray, TemplateColumns, TemplateColumns]]:
        """Yield (positions in this list, columns of u, columns of v) until every pair has had its turn."""
        if len(self.u_index) == 0:  # no pair, no block
            return
        u_stacks, v_stacks = stacked(self.us), stacked(self.vs)
        u_buckets, v_buckets = u_stacks.buckets[self.u_index], v_stacks.buckets[self.v_index]
        for alike in rows_alike([u_buckets, v_buckets]):
            ku, kv = int(u_buckets[alike[0]]), int(v_buckets[alike[0]])
            step = max(1, elements // (ku * kv))
            for first in range(0, len(alike), step):
                rows = alike[first : first + step]
                u, v = u_stacks.columns(ku, self.u_index[rows]), v_stacks.columns(kv, self.v_index[rows])
                yield rows, u, v


def rows_alike(columns: Sequence[IndexArray]) -> Iterator[IndexArray]:
    """Yield, in ascending order, the rows that have the same whole numbers from 0 on in every column."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        values = int(column.max(initial=0)) + 1
        if number.max(initial=0) >= 2**62 // values:
            number = np.unique(number, return_inverse=True)[1]
        number = number * values + column
    order = stable_order(number)
    for start, end in pairwise([*group_starts(number[order]).tolist(), len(order)]):
        yield order[start:end]


class StackedTemplates:
    """Templates stacked by their number of `buckets`, shape (n,), rounded up."""

    def __init__(self, templates: Sequence[Histogram]) -> None:
        self.buckets = np.array([_filled_up(len(template.mass)) for template in templates], dtype=np.int64)
        self._position = np.empty(len(templates), dtype=np.int64)
        self._stacks: dict[int, TemplateColumns] = {}
        for count in set(self.buckets.tolist()):
            members = np.flatnonzero(self.buckets == count)
            self._position[members] = np.arange(len(members))
            self._stacks[count] = TemplateColumns.of([templates[member] for member in members.tolist()], count)

    def columns(self, buckets: int, index: IndexArray) -> TemplateColumns:
        """Return the templates at `index`, all of which have so many buckets, one per column."""
        return self._stacks[buckets].take(self._position[index])


FEW_TEMPLATES = 32  # a tuple of so many at most is stacked once

_stacked_before = lru_cache(maxsize=16)(StackedTemplates)


def stacked(templates: Sequence[Histogram]) -> StackedTemplates:
    """Stack templates, unless the same tuple of a few was stacked before."""
    if isinstance(templates, tuple) and len(templates) <= FEW_TEMPLATES:
        return _stacked_before(templates)
    return StackedTemplates(templates)


def _filled_up(buckets: int) -> int:
    multiple = 1 if buckets <= 2 else 2 if buckets <= 8 else 4
    return -(-buckets // multiple) * multiple


def _ends(templates: Sequence[Histogram], edge: int) -> FloatArray:
    return np.array([template.edges_s[edge] for template in templates], dtype=np.float64)
