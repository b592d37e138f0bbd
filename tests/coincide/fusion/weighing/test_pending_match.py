"""How much a match is to weigh, so that no group takes more than about a second."""

import numpy as np
import pytest

from coincide import Histogram
from coincide.clocks import Clock
from coincide.fusion.weighing.pending_match import DetectionKey, PendingMatch, PendingMember
from coincide.templates.packed import packed

MANY = Histogram(np.linspace(-1, 1, 65), np.full(64, 1 / 64))
LONE, FINE = Histogram.uniform(-1, 1), Clock("gw-7", MANY).template(MANY)
COARSE = Clock("gw-7", Histogram.uniform(-30, 30)).template(LONE)


@pytest.mark.parametrize(
    ("templates", "parts"),
    [
        ([LONE, LONE], 1),
        ([FINE, FINE], 1),  # the clock cancels
        ([FINE, LONE], 1),  # nobody shares it
        ([LONE, LONE, LONE], 4),
        ([COARSE, COARSE, LONE], 4),
        ([FINE, FINE, FINE], 4),
        ([FINE, FINE, LONE], 4 * 52),
    ],
)
def test_parts_on_clocks_that_are_shared_in_part_count_for_more(templates: list[Histogram], parts: int) -> None:
    members = tuple(
        PendingMember(role, DetectionKey(0, f"s{role}", "d"), "p", 0, packed(each), None, 0.0)
        for role, each in enumerate(templates)
    )
    assert PendingMatch(1, -1, 0, "q", "bay", 0, "m", 1, members, {}).parts == parts
