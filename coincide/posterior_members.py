"""Members: the events of matches, one match per column, and which of them may be the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coincide.exact_sums import ExactSum, difference_of
from coincide.template_columns import TemplateColumns
from coincide.window import Window


@dataclass(frozen=True, eq=False)
class Members:
    """The members of n matches, role by role: templates and reported times.

    Attributes
    ----------
    templates : list of TemplateColumns of length n
    reported : list of ExactSum of shape (n,)
        Reported times in seconds, from any common origin.
    window : Window
        Symmetric: no two members occur further apart than its half-width. Otherwise of the second member minus the
        first, and there are exactly two.
    """

    templates: Sequence[TemplateColumns]
    reported: Sequence[ExactSum]
    window: Window

    @property
    def anchors(self) -> range:
        """Members that may be the anchor: in a symmetric window whoever was first, otherwise the first role."""
        return range(len(self.templates) if self.window.is_symmetric else 1)

    @property
    def reach_s(self) -> tuple[float, float]:
        """Bounds of the others' times minus the anchor's, both closed."""
        return (0.0, self.window.hi_s) if self.window.is_symmetric else (self.window.lo_s, self.window.hi_s)

    def others(self, anchor: int) -> list[int]:
        """Return the members beside the anchor."""
        return [member for member in range(len(self.templates)) if member != anchor]

    def edges_before(self, member: int, by_s: float) -> ExactSum:
        """Return the times `by_s` before the member's edges, shape (k + 1, n)."""
        reported = self.reported[member]
        placed = difference_of(self.templates[member].edges_s, -reported.high)
        moved = difference_of(placed.high, by_s)
        return difference_of(moved.high, -(moved.low + placed.low + reported.low))  # so that high sorts them
