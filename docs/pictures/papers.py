"""The pictures of docs/background/papers.md, and the cost model's in coalescing.md: what the papers' algorithms cost.

The same versions of numpy and matplotlib draw the same bytes.
"""

from __future__ import annotations

from docs.pictures.style import BACKGROUND, EXPLANATION, Pictures
from docs.studies import coalescing_costs, intervals, timing_join_work, window_join_work

FOLDER = BACKGROUND / "papers"
PICTURES: Pictures = {
    FOLDER / "timing-join-cost.svg": (timing_join_work.draw_cost, timing_join_work.numbers),
    FOLDER / "timing-join-bounds.svg": (intervals.draw_bounds, intervals.bounds_numbers),
    FOLDER / "timing-join-partitions.svg": (intervals.draw_partitions, intervals.partitions_numbers),
    FOLDER / "window-join-costs.svg": (window_join_work.draw_costs, window_join_work.costs_numbers),
    FOLDER / "window-join-response.svg": (window_join_work.draw_response, window_join_work.response_numbers),
    EXPLANATION / "coalescing" / "costs.svg": (coalescing_costs.draw_costs, coalescing_costs.numbers),
}
