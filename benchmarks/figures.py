"""Draw what the papers draw, and what their algorithms cost, into docs/benchmarks.

Run as ``python -m benchmarks.figures``. The same versions of numpy and matplotlib draw the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import bounds_figure, coalescing_figure, cost_figure, partitions_figure, window_join_figure
from docs.pictures import Numbers, save

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"
PICTURES: dict[Path, tuple[Callable[[], Any], Callable[[], Numbers]]] = {
    FOLDER / "timing-join-cost.svg": (cost_figure.draw_cost, cost_figure.numbers),
    FOLDER / "timing-join-bounds.svg": (bounds_figure.draw_bounds, bounds_figure.numbers),
    FOLDER / "timing-join-partitions.svg": (partitions_figure.draw_partitions, partitions_figure.numbers),
    FOLDER / "window-join-costs.svg": (window_join_figure.draw_costs, window_join_figure.costs_numbers),
    FOLDER / "window-join-response.svg": (window_join_figure.draw_response, window_join_figure.response_numbers),
    FOLDER / "coalescing-costs.svg": (coalescing_figure.draw_costs, coalescing_figure.numbers),
}


def main() -> None:
    """Draw all of them."""
    for path, (draw, numbers) in PICTURES.items():
        save(draw(), path, numbers())
        print(f"{path.relative_to(FOLDER.parents[1])}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
