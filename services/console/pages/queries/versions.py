"""What became of a query: its versions, what each changed, who changed it and why."""

from __future__ import annotations

from itertools import pairwise

from nicegui import ui

from services.console.pages.queries.query_words import changes_between
from services.console.pages.shell import Words
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer
from services.console.rest.query_answers import ChangeAnswer, VersionAnswer, VersionListAnswer
from services.console.rest.services import Parameters, RestError, path_of

SHOWN = 30


async def show_versions(viewer: Viewer, id_: str) -> None:
    """Show the versions of a query, newest first."""
    with ui.element("section").classes("card").props('aria-label="Versions"'):
        Words("h2", "Versions")
        try:
            path = path_of("v1", "queries", id_, "versions")
            versions = (await viewer.rest.get(VersionListAnswer, "alerting", path)).items
        except RestError as error:
            Words("p", str(error)).props("role=alert")
            return
        authors = await _authors(viewer, id_)
        with ui.element("ol").props("reversed").classes("versions"):
            for newer, older in pairwise([*versions[:SHOWN], *versions[SHOWN : SHOWN + 1], None]):
                if newer is not None:
                    _show(viewer, newer, older, authors.get(newer.version))


def _show(viewer: Viewer, newer: VersionAnswer, older: VersionAnswer | None, change: ChangeAnswer | None) -> None:
    with ui.element("li"):
        by = "" if change is None or change.name in {"anybody", "nobody"} else f" by {change.name}"
        at = Words("span", f"Version {newer.version}, {viewer.times.instant(newer.changed_at_us)}{by}")
        at.props["title"] = viewer.times.exact(newer.changed_at_us)
        if change is not None and change.why:
            Words("p", f"Why: {change.why}")
        lines = changes_between(None if older is None else older.query, newer.query)
        if older is not None and older.paused != newer.paused:
            lines.append("paused" if newer.paused else "resumed")
        for line in lines or ["nothing but its version"]:
            Words("p", line).classes("soft small")


async def _authors(viewer: Viewer, id_: str) -> dict[int, ChangeAnswer]:
    """Return who made each version, as far as the audit trail tells this viewer."""
    if not viewer.may("admin"):
        return {}
    try:
        asked: Parameters = {"subject": id_, "limit": SHOWN}
        changes = (await viewer.rest.get(PageAnswer[ChangeAnswer], "alerting", "/v1/audit", asked)).items
    except RestError:
        return {}  # the versions are there without it
    named = [(each.after, each) for each in changes if each.action.startswith("query.")]
    return {after["version"]: each for after, each in named if isinstance(after, dict) and "version" in after}
