"""The form of a query: a join, or a question over readings, and whom it tells."""

from __future__ import annotations

from nicegui import ui

from coincide.errors import CoincideError
from coincide.queries import Query
from services.console.drawing.role_graph import draw_role_graph
from services.console.pages.field_faults import FieldFaults
from services.console.pages.queries.draft import Draft
from services.console.pages.queries.forms.alert_form import AlertForm
from services.console.pages.queries.forms.document_fields import DocumentFields
from services.console.pages.queries.forms.join_form import JoinForm
from services.console.pages.queries.forms.readings_form import ReadingsForm
from services.console.pages.queries.known_names import KnownNames
from services.console.pages.queries.query_words import edges_of
from services.console.pages.shell import Words

FORMS: tuple[type[JoinForm | ReadingsForm], ...] = (JoinForm, ReadingsForm)  # a draft is shown by the first that can


class QueryForm:
    """The form over a draft; each change of a field is one of the draft's document."""

    def __init__(self, draft: Draft, known: KnownNames, faults: FieldFaults) -> None:
        self._known = known
        self._fields = DocumentFields(draft, self.draw, faults)
        self._box = ui.element("div").classes("stack query-form")
        self.draw()

    def draw(self) -> None:
        """Draw the draft's document."""
        self._box.clear()
        fields = self._fields
        form = next((each for each in FORMS if each.shows(fields.document)), None)
        with self._box:
            if form is None:
                Words("p", "This is no query that the form can show: go on in JSON or SQL.").classes("soft")
                return
            form(fields, self._known.streams).draw()
            AlertForm(fields, self._known.receivers, asks_probability=form.asks_probability)


def draw_roles(draft: Draft) -> None:
    """Draw the roles of the draft as a graph, where they are a join that can be read."""
    try:
        query = Query.from_json({**draft.document, "id": draft.id or "new"})
    except CoincideError:
        return
    draw_role_graph(query.roles, edges_of(query))
