"""Draw what the timing-correlation papers draw, and what their algorithms cost, into docs/benchmarks.

Run as ``python -m benchmarks.figures``. The same versions of numpy and matplotlib draw the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.bounds_figure import draw_bounds
from benchmarks.cost_figure import draw_cost
from benchmarks.partitions_figure import draw_partitions

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
FIGURES = {"cost": draw_cost, "bounds": draw_bounds, "partitions": draw_partitions}
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


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in FIGURES.items():
        path = FOLDER / f"timing-join-{name}.svg"
        with mpl.rc_context(STYLE):
            draw().savefig(path, metadata={"Creator": None, "Date": None})
        print(f"{path.relative_to(FOLDER.parents[1])}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
