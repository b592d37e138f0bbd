"""How to draw and save pictures: one style, the same bytes each time, and in each file some of the numbers it shows.

Drawing needs matplotlib, which `requirements-bench.lock` brings. Reading and computing the numbers does not.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
EXPLANATION = DOCS / "explanation"
BACKGROUND = DOCS / "background"

Numbers = Mapping[str, Iterable[float]]
Pictures = dict[Path, tuple[Callable[[], Any], Callable[[], Numbers]]]
"""For each file what draws it, and what computes the numbers that it is known by."""

#: The colours of every picture: matplotlib's own by name, and two pale ones for areas.
BLUE, ORANGE, GREEN, RED, PURPLE, BROWN, CYAN = "C0", "C1", "C2", "C3", "C4", "C5", "C9"
PALE_AMBER, PALE_GREEN = "#ffdf9e", "#c9e7c5"
STYLE: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.family": "sans-serif",
    "font.size": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "svg.fonttype": "none",  # text stays text: small files that can be searched
    "svg.hashsalt": "coincide",
}


def figure(width_in: float, height_in: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes, an array of them if there are several, in the style of all pictures."""
    import matplotlib as mpl  # noqa: PLC0415 - only drawing needs it
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    new_figure: tuple[Any, Any] = plt.subplots(rows, columns, figsize=(width_in, height_in), layout="constrained")
    return new_figure


def save(fig: Any, path: Path, numbers: Numbers) -> None:
    """Write the figure as SVG, without a date or the program's version, with numbers to know it by."""
    path.parent.mkdir(exist_ok=True)
    fig.savefig(path, metadata={"Date": None, "Creator": None, "Description": json.dumps(rounded(numbers))})
    fig.clear()


def rounded(numbers: Numbers) -> dict[str, list[float]]:
    """Return the numbers to six digits."""
    return {name: [float(f"{each:.6g}") for each in values] for name, values in numbers.items()}


def numbers_in(path: Path) -> dict[str, list[float]]:
    """Return the numbers that `save` wrote into a picture."""
    text = re.search(r"<dc:description>(.*?)</dc:description>", path.read_text(encoding="utf-8"), re.DOTALL)
    numbers: dict[str, list[float]] = json.loads(html.unescape(text[1]) if text else "{}")
    return numbers
