"""Where the source of a match was: in a sentence, on a map, and what is left of each member."""

from __future__ import annotations

from nicegui import ui

from services.console.drawing.source_map import draw_source
from services.console.pages.place_words import residual_words, where_words
from services.console.pages.shell import Words
from services.console.pages.time_words import TimeWords
from services.console.rest.documents import MatchAnswer


def draw_where(match: MatchAnswer, times: TimeWords) -> None:
    """Say and draw where it was, or why that is not told; nothing where its query asks for no source."""
    why = (match.unknown or {}).get("place")
    if match.place is None and why is None:
        return
    Words("h3", "Where")
    if match.place is None:
        Words("p", f"Its place is not told ({(why or '').replace('_', ' ')}).")
        return
    when = match.place.occurred
    said = f"There it was {times.clock(when.mean_us)}; with 90 % between {times.clock(when.p05_us)} and"
    Words("p", where_words(match.place))
    Words("p", f"{said} {times.clock(when.p95_us)}.").props["title"] = times.exact(when.mean_us)
    draw_source(match.place, match.members, where_words(match.place))
    with ui.element("ul").classes("members"):
        for member, late_s in zip(match.members, match.place.residual_s, strict=False):
            Words("li", f"{member.sensor} {residual_words(late_s)}").props["title"] = f"{late_s!r} s"
