"""The templates that have a name: what each says, who follows it, and changes of them for all that do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import ui

from services.console.drawing.template_words import said_of
from services.console.pages.number_words import counted
from services.console.pages.plain_table import plain_table
from services.console.pages.sensors.row_dialogue import RowDialogue
from services.console.pages.sensors.template_field import TemplateField
from services.console.pages.shell import Words, button, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.documents import PageAnswer, SensorAnswer
from services.console.rest.sensor_answers import NamedTemplateAnswer
from services.console.rest.services import UNFIT, ChangeRequest, RestError, path_of

AT_ONCE, MOST_AGAIN = 100, 1000
ADDRESS = "/sensors#templates"


def followers(template: NamedTemplateAnswer) -> str:
    """Return how many sensors follow a template, and how many of them do not have its last change yet."""
    count = counted(template.sensors, "sensor")
    return f"{count} ({template.behind} not yet)" if template.behind else count


async def find_named(viewer: Viewer, sensor: SensorAnswer) -> Mapping[str, NamedTemplateAnswer]:
    """Return, by stream, the templates that a sensor follows by their names."""

    async def find(name: str) -> NamedTemplateAnswer | None:
        try:
            return await viewer.rest.get(NamedTemplateAnswer, "ingest", _path(name))
        except RestError:
            return None

    found = await asyncio.gather(*map(find, sensor.templates.values()))
    return {stream: each for stream, each in zip(sensor.templates, found, strict=True) if each is not None}


def show_followed(template: NamedTemplateAnswer) -> None:
    """Say in the page of a sensor that it follows this template."""
    with ui.element("p").classes("small"):
        Words("span", "It follows the template ")
        link = ui.element("a")
        link.props["href"] = ADDRESS
        with link:
            Words("span", template.name)
        Words("span", f", which {followers(template)} follow{'s' if template.sensors == 1 else ''}.")


class TemplateTable:
    """The templates by their names, each with a form to change it; more come when somebody asks for them."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self._shown: list[NamedTemplateAnswer] | None = None
        self._next: str | None = None
        self._dialogue = RowDialogue(viewer, self.load)
        self._box = ui.element("section").classes("card stack").props('aria-label="Templates" id=templates')

    async def look(self) -> None:
        """Ask again for what is listed, unless somebody fills in a form of it."""
        if not self._dialogue.is_open and len(self._shown or ()) <= MOST_AGAIN:
            await self.load()

    async def load(self) -> None:
        """Ask, and draw anew what has changed."""
        page = await self._ask(None, max(AT_ONCE, len(self._shown or ())))
        if page is not None and (page.items, page.next_cursor) != (self._shown, self._next):
            self._draw(page.items, page.next_cursor)

    async def _more(self) -> None:
        page = await self._ask(self._next, AT_ONCE)
        if page is not None:
            self._draw([*(self._shown or ()), *page.items], page.next_cursor)

    async def _ask(self, cursor: str | None, limit: int) -> PageAnswer[NamedTemplateAnswer] | None:
        asked = {"limit": limit, "cursor": cursor}
        try:
            return await self._viewer.rest.get(PageAnswer[NamedTemplateAnswer], "ingest", "/v1/templates", asked)
        except RestError:
            return None  # the table above says so

    def _draw(self, templates: list[NamedTemplateAnswer], more: str | None) -> None:
        self._shown, self._next = templates, more
        self._dialogue.forget()
        self._box.clear()
        with self._box:
            Words("h2", "Templates")
            Words("p", "Sensors that name a template follow its changes. Others have one of their own.")
            if templates:
                with plain_table(("Template", "What it reports", "Version", "Followed by", "Do")):
                    for each in templates:
                        self._row(each)
            if more is not None:
                button("Show more", self._more)
            if self._viewer.may("admin"):
                button("New template", lambda: self._edit(None, place))
            place = ui.element("div").classes("stack")

    def _row(self, template: NamedTemplateAnswer) -> None:
        with ui.element("tr"):
            Words("td", template.name)
            Words("td", said_of(template))
            Words("td", str(template.version)).classes("number").props["title"] = self._changed(template)
            Words("td", followers(template))
            with ui.element("td"):
                edit = partial(self._edit, template)
                self._dialogue.offer_acts(template.name, edit, _path(template.name), template.version)

    def _changed(self, template: NamedTemplateAnswer) -> str:
        if template.changed_at_us is None:
            return "never changed since the file declared it"
        return f"changed {self._viewer.times.exact(template.changed_at_us)}, by {template.changed_by or 'somebody'}"

    def _edit(self, template: NamedTemplateAnswer | None, place: ui.element) -> None:
        """Offer to change a template, or, where there is none, to make one."""
        said: dict[str, Any] = {"name": "", "why": "", "template": None}
        if template is not None:
            said |= {"name": template.name, "template": {"edges_s": template.edges_s, "mass": template.mass}}
        seen = {"If-None-Match": "*"} if template is None else {"If-Match": f'"{template.version}"'}

        def change() -> ChangeRequest:
            name = said["name"].strip()
            if not name:
                raise RestError("Give the template a name.", UNFIT)
            if said["template"] is None:
                raise RestError("Choose how late or wrong its reports are.", UNFIT)
            return ChangeRequest("PUT", "ingest", _path(name), said["template"], seen, said["why"])

        with self._dialogue.open(place):
            if template is None:
                with self._dialogue.faults.at("Name", "a name|the name of a template"):
                    text_field("Name", "", partial(said.__setitem__, "name"))
            elif template.sensors:
                Words("p", f"What is reported from then on has it, by {followers(template)}.")
            label = f"Template {said['name']}".strip()
            with self._dialogue.faults.at(label, "its reports|the template is|stream"):
                TemplateField(label, said["template"], partial(said.__setitem__, "template"), may_be_named=False)
            with ui.element("div").classes("row"):
                self._dialogue.offer("Save", change, said)


def _path(name: str) -> str:
    return path_of("v1", "templates", name)
