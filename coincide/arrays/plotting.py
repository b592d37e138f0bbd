"""Pictures by matplotlib, which is imported when the first one is drawn: the extra ``coincide[plot]``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from coincide.arrays.kinds import FloatArray

BARS, ATOMS = "#4c78a8", "#e45756"


def axes_of(ax: Axes | None) -> Any:
    """Return the axes to draw into: those given, or the current ones of pyplot."""
    if ax is not None:
        return ax
    try:
        return import_module("matplotlib.pyplot").gca()
    except ImportError:
        raise ImportError("pip install 'coincide[plot]': pictures need matplotlib") from None


def draw_density(axes: Any, edges_s: FloatArray, mass: FloatArray) -> None:
    """Draw the density of buckets as bars, on the left scale, and atoms as lines of their mass, on the right one."""
    length = edges_s[1:] - edges_s[:-1]
    has_width = length > 0
    if has_width.any():
        axes.bar(
            edges_s[:-1][has_width],
            (mass / (length + ~has_width))[has_width],
            length[has_width],
            align="edge",
            color=BARS,
        )
        axes.set_ylabel("density per second")
    if not has_width.all():
        of_atoms = axes.twinx() if has_width.any() else axes
        of_atoms.vlines(edges_s[:-1][~has_width], 0, mass[~has_width], color=ATOMS)
        of_atoms.set_ylim(0, 1)
        of_atoms.set_ylabel("probability of an exact time")
    axes.set_xlabel("occurred - reported (s)")


def draw_counts_by_threshold(axes: Any, probability: FloatArray) -> None:
    """Draw, for each threshold, how many of the probabilities reach it."""
    reached = sorted(probability.tolist())
    thresholds = [0.0, *reached, 1.0]
    counts = [len(reached), *range(len(reached), 0, -1), 0]
    axes.step(thresholds, counts, where="pre", color=BARS)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("threshold")
    axes.set_ylabel("pairs that reach it")
