"""What the services keep of a range of time: matches, episodes and alerts, the newest if there are too many."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TypeVar

from services.console.pages.shown_range import ShownRange
from services.console.pages.viewer import Viewer
from services.console.rest.documents import AlertAnswer, EpisodeAnswer, MatchAnswer, PageAnswer, RecentAnswer
from services.console.rest.services import Parameters

PAGE_MOST = 1000
Wanted = dict[str, str | int | None]
Item = TypeVar("Item")


@dataclass(frozen=True)
class KeptThings:
    """What was found in [from_us, to_us]; `is_part` where there is more of something than was read."""

    from_us: int
    to_us: int
    matches: list[MatchAnswer] = field(default_factory=list)
    episodes: list[EpisodeAnswer] = field(default_factory=list)
    alerts: list[AlertAnswer] = field(default_factory=list)
    is_part: bool = False

    def covers(self, from_us: int, to_us: int) -> bool:
        """Whether nothing is missing in these times."""
        return self.from_us <= from_us and to_us <= self.to_us


async def read_kept(viewer: Viewer, shown: ShownRange) -> KeptThings:
    """Return what lies in the range, and as much before and after it; a `RestError` where a service does not answer."""
    from_us, to_us = shown.from_us - shown.span_us, shown.to_us + shown.span_us
    common: Wanted = {"from": from_us, "to": to_us, "area": shown.area or None, "query": shown.query or None}
    sure: Wanted = {"min_posterior": f"{shown.min_posterior!r}"} if shown.min_posterior else {}
    most = viewer.settings.drawn_matches_max
    matches, episodes, alerts = await asyncio.gather(
        _read_pages(viewer, PageAnswer[MatchAnswer], "/v1/matches", common | sure, most),
        _read_pages(viewer, PageAnswer[EpisodeAnswer], "/v1/episodes", common, most),
        _read_pages(viewer, PageAnswer[AlertAnswer], "/v1/alerts", common, most),
    )
    is_part = any(more for _, more in (matches, episodes, alerts))
    return KeptThings(from_us, to_us, matches[0], episodes[0], alerts[0], is_part)


async def _read_pages(
    viewer: Viewer, kind: type[PageAnswer[Item]], path: str, wanted: Wanted, most: int
) -> tuple[list[Item], bool]:
    """Return the newest `most` items, and whether there are more."""
    items: list[Item] = []
    cursor: str | None = None
    while True:
        limit = min(PAGE_MOST, most - len(items))
        page = await viewer.rest.get(kind, "alerting", path, {**wanted, "limit": limit, "cursor": cursor})
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) >= most:
            return items, cursor is not None


async def read_recent(viewer: Viewer) -> RecentAnswer:
    """Return what ingest took last."""
    limit: Parameters = {"limit": min(viewer.settings.drawn_detections_max, 5000)}
    return await viewer.rest.get(RecentAnswer, "ingest", "/v1/detections", limit)
