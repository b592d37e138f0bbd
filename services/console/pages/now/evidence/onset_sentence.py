"""When a match occurred: its density, worked out by the library."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from coincide import Histogram, Window
from coincide.errors import CoincideError
from coincide.probability import occurred, occurred_quantiles_us
from coincide.queries import Query
from services.console.drawing.table_columns import template_id
from services.console.rest.documents import MatchAnswer, TemplateAnswer

BARS = 80  # of equal mass
SAME_US = 1000  # a difference of the mean below it is rounding


class OnsetBar(NamedTuple):
    """An equal share of the probability, from one time to the next."""

    from_us: int
    to_us: int


def onset_bars(match: MatchAnswer, templates: Mapping[str, TemplateAnswer], query: Mapping[str, Any]) -> list[OnsetBar]:
    """Return bars of equal mass; none where the query or a template is no longer what it was for this match."""
    window = window_of(match, query)
    found = [templates.get(template_id(each)) for each in match.members]
    if match.occurred is None or window is None or None in found:
        return []
    try:
        members = [Histogram(each.edges_s, each.mass or [1.0]) for each in found if each is not None]
        seen_us = [each.detected_at_us for each in match.members]
        if abs(occurred(members, seen_us, window).mean_us - match.occurred.mean_us) > SAME_US:
            return []
        shares = [(nth + 0.5) / (BARS + 1) for nth in range(BARS + 1)]
        return [OnsetBar(*each) for each in pairwise(occurred_quantiles_us(members, seen_us, window, shares))]
    except CoincideError:
        return []


def window_of(match: MatchAnswer, query: Mapping[str, Any]) -> Window | None:
    """Return the window between the match's members, the second's time minus the first's; None if there is not one."""
    try:
        asked = Query.from_json({**query, "id": match.query})
    except CoincideError:  # it is no join any more, or written by a newer version
        return None
    roles = [each.role for each in match.members]
    edges = [each for each in asked.within if each.first in roles and each.second in roles]
    if not edges or any(each.window != edges[0].window for each in edges):
        return None
    window = edges[0].window
    return window if edges[0].first == roles[0] else Window(lo_s=-window.hi_s, hi_s=-window.lo_s)
