"""Shaded ranges of a time axis, named, with their ends marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROBED, MATCHES = "#ffdf9e", "#c9e7c5"


def shade(ax: Axes, ends: Sequence[float], y: float, height: float, names: tuple[str, str, str]) -> None:
    """Draw a bar of three ranges: probed, matching for certain, probed."""
    for (start, end), name in zip(pairwise(ends), names, strict=True):
        color = MATCHES if name == names[1] else PROBED
        ax.barh(y, end - start, height, start, color=color, edgecolor="0.4", linewidth=0.6)
        ax.text((start + end) / 2, y, name, ha="center", va="center", fontsize=8)
