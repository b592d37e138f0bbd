"""The pictures of docs/explanation/papers.md, and the cost model's in coalescing.md: what the papers' algorithms cost.

The same versions of numpy and matplotlib draw the same bytes.
"""

from __future__ import annotations

from benchmarks import bounds_figure, coalescing_figure, cost_figure, partitions_figure, window_join_figure
from docs.pictures.style import EXPLANATION, Pictures

FOLDER = EXPLANATION / "papers"
PICTURES: Pictures = {
    FOLDER / "timing-join-cost.svg": (cost_figure.draw_cost, cost_figure.numbers),
    FOLDER / "timing-join-bounds.svg": (bounds_figure.draw_bounds, bounds_figure.numbers),
    FOLDER / "timing-join-partitions.svg": (partitions_figure.draw_partitions, partitions_figure.numbers),
    FOLDER / "window-join-costs.svg": (window_join_figure.draw_costs, window_join_figure.costs_numbers),
    FOLDER / "window-join-response.svg": (window_join_figure.draw_response, window_join_figure.response_numbers),
    EXPLANATION / "coalescing" / "costs.svg": (coalescing_figure.draw_costs, coalescing_figure.numbers),
}
