"""The editor: one draft as form, JSON and SQL; beside it what is wrong, what it can find, and how it is saved."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from nicegui import ui

from coincide.stream import NAME_IN_WORDS
from services.console.drawing.query_code import QueryCode
from services.console.pages.field_faults import FieldFaults
from services.console.pages.queries.draft import Draft
from services.console.pages.queries.forms.query_form import QueryForm, draw_roles
from services.console.pages.queries.known_names import KnownNames
from services.console.pages.shell import Words, button, change_button, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.query_answers import ExplainAnswer
from services.console.rest.services import UNFIT, ChangeRequest, RestError, path_of

SETTLED_S = 0.7  # without a keystroke, before it is explained
VIEWS = {"form": "Form", "json": "JSON", "sql": "SQL"}


class QueryEditor:
    """A draft in three views. `when_saved` is called with the id once the system has it."""

    def __init__(
        self, viewer: Viewer, draft: Draft, known: KnownNames, when_saved: Callable[[str], Awaitable[None]]
    ) -> None:
        self._viewer, self._draft, self._known, self._when_saved = viewer, draft, known, when_saved
        self._why = ""
        self._faults = FieldFaults()
        self._view = "form"
        self._code: QueryCode | None = None
        self._settling: ui.timer | None = None
        draft.on_change.append(self._changed)
        with ui.element("div").classes("editor"):
            with ui.element("section").classes("card stack editor-views").props('aria-label="The query"'):
                self._head()
                self._place = ui.element("div").classes("editor-place")
                self._faults.below()
                self._foot()
            with ui.element("section").classes("card stack editor-beside").props('aria-label="What it can find"'):
                self._picture = ui.element("div")
                Words("h2", "What it can find")
                self._found = ui.element("div").classes("stack").props("role=status")
        self._show(self._view)
        self._changed()

    def _head(self) -> None:
        with ui.element("div").classes("row spread"):
            if self._draft.version is None:
                with self._faults.at("Name", "id|a name"):
                    text_field("Name", self._draft.id, self._rename)
            else:
                Words("h2", "The query")
            with ui.element("div").classes("row group").props('role=group aria-label="View"'):
                self._buttons = {view: button(words, partial(self._show, view)) for view, words in VIEWS.items()}

    def _foot(self) -> None:
        if not self._viewer.may("queries"):
            Words("p", "Your key may not change queries; one with the scope queries may.").classes("soft")
            return
        row = ui.element("div").classes("row")
        with row:
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            change_button(self._viewer, "Save", self._change, self._saved, self._faults, kind="strong")

    @property
    def _path(self) -> str:
        return path_of("v1", "queries", self._draft.id or "new")

    def _rename(self, name: str) -> None:
        self._draft.id = name.strip()
        self._draft.put(self._draft.document)

    def _show(self, view: str) -> None:
        """Show another view of the same draft."""
        self._view, self._code = view, None
        for name, made in self._buttons.items():
            made.props(f'aria-pressed="{str(name == view).lower()}"')
        draft, known = self._draft, self._known.by_kind()
        line = 0 if draft.fault is None else draft.fault.line
        self._place.clear()
        with self._place:
            if kept := self._kept(view):
                Words("p", kept).classes("soft small").props("role=status")
            if view == "form":
                QueryForm(draft, self._known, self._faults)
            elif view == "json":
                self._code = QueryCode(draft.json_text, "JSON", draft.put_json, known, "The query as JSON", line)
            else:
                self._code = QueryCode(draft.sql_text, "SQL", draft.put_sql, known, "The query as SQL", line)
        self._say_fault()

    def _kept(self, view: str) -> str:
        """Return what a person has to know of this view where another one holds what cannot be read."""
        if self._draft.unread is not None and self._draft.unread[0] != view:
            written = VIEWS[self._draft.unread[0]]
            return f"What you wrote as {written} is kept there, but is no query yet. A change here takes its place."
        is_empty = view == "sql" and not self._draft.sql_text
        return "The query is not right yet, so there is no SQL of it." if is_empty else ""

    def _changed(self) -> None:
        """Show what is wrong at once, and what it can find when nobody has typed for a moment."""
        self._say_fault()
        if self._settling is not None:
            self._settling.cancel()
        self._settling = ui.timer(SETTLED_S, self._explain, once=True)

    def _say_fault(self) -> None:
        fault = self._draft.fault
        self._faults.set_text("" if fault is None else fault.sentence)
        if self._code is not None:
            self._code.mark_line(0 if fault is None else fault.line)

    async def _explain(self) -> None:
        """Ask what the registered sensors can attain, for the draft as it is."""
        self._picture.clear()
        with self._picture:
            draw_roles(self._draft)
        sentences = await self._sentences() if self._draft.fault is None else ["When the query is right, this says it."]
        self._found.clear()
        with self._found:
            for sentence in sentences:
                Words("p", sentence)

    async def _sentences(self) -> list[str]:
        if "within" not in self._draft.document:
            return ["A query over readings has no pairs of sensors that could be out of reach."]
        try:
            explained = await self._viewer.rest.post(
                ExplainAnswer, "alerting", f"{self._path}/explain", self._draft.document
            )
        except RestError as error:
            return [str(error)]
        return explained.sentences

    def _change(self) -> ChangeRequest:
        """Return the request that saves the draft; a `RestError` says what it lacks."""
        draft = self._draft
        if not draft.id:
            raise RestError(f"Give the query a name: {NAME_IN_WORDS}.", UNFIT)
        if draft.unread is not None:
            raise RestError(f"What you wrote as {VIEWS[draft.unread[0]]} is no query yet.", UNFIT)
        if draft.fault is not None:
            raise RestError(draft.fault.sentence, UNFIT)
        seen = {"If-None-Match": "*"} if draft.version is None else {"If-Match": f'"{draft.version}"'}
        return ChangeRequest("PUT", "alerting", self._path, draft.document, seen, self._why)

    async def _saved(self, _answer: Any) -> None:
        await self._when_saved(self._draft.id)
