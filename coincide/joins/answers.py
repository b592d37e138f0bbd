"""Pairs and Tuples: what joins answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from coincide.arrays.arrow import ArrowColumns, Column
from coincide.arrays.changes import ROWS_IN_TEXT, summary
from coincide.arrays.kinds import BoolArray, FloatArray, LabelArray, PositionArray, read_only
from coincide.arrays.plotting import axes_of, draw_counts_by_threshold
from coincide.constraints.window import Window
from coincide.joins.detections import Detections
from coincide.probability.difference import match_probabilities
from coincide.probability.joint import JointProbability

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS_IN_TABLE = 10


@dataclass(frozen=True, eq=False)
class PairsOfRows:
    """Computes the probabilities of pairs of rows of two batches; pickled, it keeps those rows alone."""

    a: Detections
    b: Detections
    left: PositionArray
    right: PositionArray
    window: Window

    def __call__(self) -> FloatArray:
        """Return the probabilities, float64 (n,)."""
        return match_probabilities(*self._columns())

    def __reduce__(self) -> tuple[Any, ...]:
        return partial, (match_probabilities, *self._columns())

    def _columns(self) -> tuple[Any, ...]:
        a, b = self.a, self.b
        u_index, v_index = (
            each.astype(np.int64) for each in (a.template_index[self.left], b.template_index[self.right])
        )
        offset_us = b.detected_at_us[self.right] - a.detected_at_us[self.left]
        return a.templates, b.templates, u_index, v_index, offset_us, self.window


class Pairs(ArrowColumns):
    """Matching pairs in columns; the probability is computed when first asked for.

    Pairs that a join answers can be pickled, with what their probability needs of each event. As Arrow (`to_arrow`)
    they have the columns left, right and probability.

    Attributes
    ----------
    left, right : ndarray, shape (n,), read-only
        The event of a and the event of b: positions (int64) in a batch, ids or refs in a stream.

    Examples
    --------
    >>> Pairs(np.array(["s1", "s1"]), np.array(["a1", "a7"]), lambda: np.array([0.9, 0.7]))
    Pairs(2: ('s1', 'a1'), ('s1', 'a7'))
    """

    def __init__(self, left: LabelArray, right: LabelArray, probabilities: Callable[[], FloatArray]) -> None:
        self.left: LabelArray = read_only(left)
        self.right: LabelArray = read_only(right)
        self._probabilities = probabilities

    @classmethod
    def none(cls) -> Pairs:
        """Return no pairs."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), partial(np.empty, 0))

    def __len__(self) -> int:
        return len(self.left)

    @cached_property
    def probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) of each pair, float64 (n,)."""
        return self._probabilities()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how many pairs each threshold would leave; return the axes. Needs ``coincide[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default the current axes of pyplot.
        """
        axes: Axes = axes_of(ax)
        draw_counts_by_threshold(axes, self.probability)
        return axes

    def _columns(self) -> Mapping[str, Column]:
        return {"left": self.left, "right": self.right, "probability": self.probability}

    def __repr__(self) -> str:
        return summary("Pairs", str(len(self)), self._first(ROWS_IN_TEXT), len(self))

    def _repr_html_(self) -> str:
        return _table(("left", "right"), self._first(ROWS_IN_TABLE), len(self), vars(self).get("probability"))

    def _first(self, count: int) -> list[tuple[Any, ...]]:
        return list(zip(self.left[:count].tolist(), self.right[:count].tolist(), strict=True))


class Tuples(ArrowColumns):
    """Tuples of members in columns; probabilities are computed when first asked for, also after pickling.

    As Arrow (`to_arrow`) they have a column for each role, null where it is absent, then probability, least and
    greatest (its bounds) and edge_probability, a list.

    Parameters
    ----------
    members : ndarray, shape (n, k)
        One event of each role, in the order of the graph's roles: positions (int64) in a batch, ids or row numbers in
        a stream. Where a role is absent from the tuple (`at_least`): -1, or "" if ids are text.
    joint, edge_probabilities : callable
        Compute the joint probabilities with their bounds, and the probabilities of the edges.
    present : ndarray of bool, shape (n, k), optional
        Which roles are present; by default all.
    threshold : float, optional
        The joint threshold that the tuples reach.
    roles : sequence of str, optional
        Names of the roles, for `to_arrow`; by default role_0 and so on.

    Examples
    --------
    >>> from coincide.probability import JointProbability
    >>> sure = JointProbability.exactly(np.ones(2))
    >>> Tuples(np.array([[0, 4, 1], [2, 5, -1]]), lambda: sure, lambda: np.ones((2, 3)))
    Tuples(2 of 3 roles: (0, 4, 1), (2, 5, -1))
    """

    def __init__(
        self,
        members: LabelArray,
        joint: Callable[[], JointProbability],
        edge_probabilities: Callable[[], FloatArray],
        present: BoolArray | None = None,
        threshold: float | None = None,
        roles: Sequence[str] | None = None,
    ) -> None:
        self.members = members
        self.present = np.broadcast_to(np.True_, members.shape) if present is None else present
        self._compute_joint = joint
        self._edge_probabilities = edge_probabilities
        self._threshold = threshold
        self._roles = [f"role_{role}" for role in range(members.shape[1])] if roles is None else roles

    @classmethod
    def none(cls, roles: int, edges: int) -> Tuples:
        """Return no tuples."""
        return cls(np.empty((0, roles), np.int64), partial(JointProbability.unset, 0), partial(np.empty, (0, edges)))

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def probability(self) -> FloatArray:
        """P of all edges between present members at once, the joint probability, float64 (n,): the best guess."""
        return self._joint.value

    @cached_property
    def probability_bounds(self) -> FloatArray:
        """Least and greatest value that the joint probability can have, float64 (n, 2); equal where it is exact."""
        return np.stack((self._joint.lower, self._joint.upper), axis=1)

    @cached_property
    def is_certain(self) -> BoolArray:
        """Whether each tuple reaches the joint threshold for certain, bool (n,).

        Where it is False, the threshold lies within bounds 1e-5 apart, and `probability` between them decided.
        Without a joint threshold all are True.
        """
        return np.ones(len(self), np.bool_) if self._threshold is None else self._joint.is_certain(self._threshold)

    @cached_property
    def _joint(self) -> JointProbability:
        return self._compute_joint()

    @cached_property
    def edge_probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) by edge, in the graph's order, float64 (n, edges); NaN where a member is absent."""
        return self._edge_probabilities()

    def _columns(self) -> Mapping[str, Column]:
        absent = ~self.present
        members = {
            role: np.ma.masked_array(self.members[:, nth], absent[:, nth]) for nth, role in enumerate(self._roles)
        }
        least, greatest = self.probability_bounds.T
        figures = {"probability": self.probability, "least": least, "greatest": greatest}
        return {**members, **figures, "edge_probability": self.edge_probability}

    def __repr__(self) -> str:
        roles = self.members.shape[1]
        return summary("Tuples", f"{len(self)} of {roles} roles", self._first(ROWS_IN_TEXT), len(self))

    def _repr_html_(self) -> str:
        roles = [f"role {role}" for role in range(self.members.shape[1])]
        return _table(roles, self._first(ROWS_IN_TABLE), len(self), vars(self).get("probability"))

    def _first(self, count: int) -> list[tuple[Any, ...]]:
        return list(map(tuple, self.members[:count].tolist()))


def _table(names: Sequence[str], rows: Sequence[tuple[Any, ...]], total: int, probability: FloatArray | None) -> str:
    """Write the first rows as an HTML table, and probabilities beside them if they have been computed."""
    if probability is not None:
        names = [*names, "probability"]
        rows = [(*row, f"{each:.4g}") for row, each in zip(rows, probability[: len(rows)].tolist(), strict=True)]
    body = "".join(_table_row("td", row) for row in rows)
    return f"<table>{_table_row('th', names)}{body}</table><p>{len(rows)} of {total} rows</p>"


def _table_row(tag: str, cells: Iterable[Any]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
