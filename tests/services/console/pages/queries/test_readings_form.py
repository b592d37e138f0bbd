"""What the form of a query over readings changes beside what somebody typed."""

from typing import Any

from services.console.pages.field_faults import FieldFaults
from services.console.pages.queries.draft import Draft
from services.console.pages.queries.forms.document_fields import DocumentFields
from services.console.pages.queries.forms.readings_form import ReadingsForm


def test_what_only_spells_have_goes_with_the_spells() -> None:
    where = {"above": 40, "until_below": 37}
    read: dict[str, Any] = {"from": "temperature", "value": "attributes.celsius", "where": where}
    draft = Draft("hot", {"coalesce": read, "lasting_s": 60})
    ReadingsForm(DocumentFields(draft, lambda: None, FieldFaults()), ["temperature"])._ask("longest")
    assert draft.document["coalesce"]["where"] == {"above": 40}
    assert draft.fault is None
