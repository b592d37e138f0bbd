"""How pictures are drawn and kept: one style, the same bytes each time, and in each file some of the numbers it shows.

matplotlib comes with `requirements-bench.lock`. The numbers can be read, and computed again, without it.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Numbers = Mapping[str, Iterable[float]]

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
    import matplotlib as mpl  # noqa: PLC0415 - for who draws, not for who reads the numbers
    from matplotlib import pyplot as plt  # noqa: PLC0415

    mpl.use("Agg")
    mpl.rcParams.update(STYLE)
    drawn: tuple[Any, Any] = plt.subplots(rows, columns, figsize=(width_in, height_in), layout="constrained")
    return drawn


def save(drawn: Any, path: Path, numbers: Numbers) -> None:
    """Write the figure as SVG, without a date or the program's version, with numbers to know it by."""
    path.parent.mkdir(exist_ok=True)
    drawn.savefig(path, metadata={"Date": None, "Creator": None, "Description": json.dumps(rounded(numbers))})
    drawn.clear()


def rounded(numbers: Numbers) -> dict[str, list[float]]:
    """Return the numbers to six digits."""
    return {name: [float(f"{each:.6g}") for each in values] for name, values in numbers.items()}


def numbers_in(path: Path) -> dict[str, list[float]]:
    """Return the numbers that `save` wrote into a picture."""
    text = re.search(r"<dc:description>(.*?)</dc:description>", path.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, list[float]] = json.loads(html.unescape(text[1]) if text else "{}")
    return found
