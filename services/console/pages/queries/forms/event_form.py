"""The form of what a join says of events: how often they come, how they are heard, and what else is reported."""

from __future__ import annotations

from nicegui import ui

from services.console.pages.queries.forms.document_fields import DocumentFields
from services.console.pages.shell import Words, number_field

ARRIVALS = {"at_once": "all sensors at once", "within_window": "them as far apart as the windows say"}
RATES = {"declared": "hold as they are", "learnt": "are a beginning: the matches teach better ones"}
HEARD_BY = 0.8  # until somebody says otherwise
PER_DAY = "Events come so often a day"


def draw_event(fields: DocumentFields) -> None:
    """Draw the rate of events, and once that is given what else belongs to it."""

    def take(per_day: float | str | None) -> None:
        if per_day is None:
            fields.put("event", value=None, redraw=True)
            return
        is_new = fields.get("event") is None
        if is_new:
            fields.document["event"] = {"per_day": per_day, "heard_by": HEARD_BY}
        fields.put("event", "per_day", value=per_day, redraw=is_new)

    with ui.element("div").classes("row"):
        with fields.at(PER_DAY, "event", "per_day"):
            number_field(PER_DAY, fields.get("event", "per_day"), take)
        if fields.get("event") is None:
            Words("span", "With it, each match says how probable it is that it is one event.").classes("soft small")
            return
        fields.number("A sensor hears one with probability", "event", "heard_by")
        fields.number("Other reports of a sensor a day (none: they are counted)", "event", "unpaired_per_day")
        fields.one_of("One reaches", ARRIVALS, "at_once", "event", "arrives")
        fields.one_of("These rates", RATES, "declared", "event", "rates")
