"""Pairs and Tuples: what joins answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from coincide.arrays.changes import ROWS_IN_TEXT, summary
from coincide.arrays.kinds import BoolArray, FloatArray, LabelArray

ROWS_IN_TABLE = 10


class Pairs:
    """Matching pairs in columns; the probability is computed when first asked for.

    Attributes
    ----------
    left, right : ndarray, shape (n,)
        The event of a and the event of b: positions (int64) in a batch, ids or refs in a stream.

    Examples
    --------
    >>> Pairs(np.array(["s1", "s1"]), np.array(["a1", "a7"]), lambda: np.array([0.9, 0.7]))
    Pairs(2: ('s1', 'a1'), ('s1', 'a7'))
    """

    def __init__(self, left: LabelArray, right: LabelArray, probabilities: Callable[[], FloatArray]) -> None:
        self.left = left
        self.right = right
        self._probabilities = probabilities

    @classmethod
    def none(cls) -> Pairs:
        """Return no pairs."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), lambda: np.empty(0))

    def __len__(self) -> int:
        return len(self.left)

    @cached_property
    def probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) of each pair, float64 (n,)."""
        return self._probabilities()

    def __repr__(self) -> str:
        return summary("Pairs", str(len(self)), self._first(ROWS_IN_TEXT), len(self))

    def _repr_html_(self) -> str:
        return _table(("left", "right"), self._first(ROWS_IN_TABLE), len(self), vars(self).get("probability"))

    def _first(self, count: int) -> list[tuple[Any, ...]]:
        return list(zip(self.left[:count].tolist(), self.right[:count].tolist(), strict=True))


class Tuples:
    """Tuples of members in columns; probabilities are computed when first asked for.

    Parameters
    ----------
    members : ndarray, shape (n, k)
        One event of each role, in the order of the graph's roles: positions (int64) in a batch, ids or row numbers in
        a stream. Where a role is absent from the tuple (`at_least`): -1, or "" if ids are text.
    probabilities, edge_probabilities : callable
        Compute the two attributes below.
    present : ndarray of bool, shape (n, k), optional
        Which roles are present; by default all.

    Examples
    --------
    >>> Tuples(np.array([[0, 4, 1], [2, 5, -1]]), lambda: np.ones(2), lambda: np.ones((2, 3)))
    Tuples(2 of 3 roles: (0, 4, 1), (2, 5, -1))
    """

    def __init__(
        self,
        members: LabelArray,
        probabilities: Callable[[], FloatArray],
        edge_probabilities: Callable[[], FloatArray],
        present: BoolArray | None = None,
    ) -> None:
        self.members = members
        self.present = np.broadcast_to(np.True_, members.shape) if present is None else present
        self._probabilities = probabilities
        self._edge_probabilities = edge_probabilities

    @classmethod
    def none(cls, roles: int, edges: int) -> Tuples:
        """Return no tuples."""
        return cls(np.empty((0, roles), np.int64), lambda: np.empty(0), lambda: np.empty((0, edges)))

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def probability(self) -> FloatArray:
        """P of all edges between present members at once, float64 (n,)."""
        return self._probabilities()

    @cached_property
    def edge_probability(self) -> FloatArray:
        """P(lo <= Xb - Xa <= hi) by edge, in the graph's order, float64 (n, edges); NaN where a member is absent."""
        return self._edge_probabilities()

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
