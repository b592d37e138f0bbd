"""Templates that have a name as what people change: what a form declares, and what the sensors that name one refuse."""

from typing import Any

import msgspec

from coincide.errors import HistogramError
from coincide.wire.declarations.names import TEMPLATE_NAME_IN_WORDS, TemplateName
from services.common.fault_sentences import fault_in
from services.common.http.problem import Problem
from services.ingest.registry.followed_changes import Followed, FollowedChanges
from services.ingest.registry.named_templates import TEMPLATES, NamedTemplate, unclocked_template
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import refuse_too_large_template
from services.ingest.registry.snapshot import Registry, Use


def template_changes(sensors: SensorChanges) -> FollowedChanges[NamedTemplate]:
    """Return the one way in which ingest changes templates that have a name."""
    return FollowedChanges(templates_of(sensors.registry), sensors)


def templates_of(registry: Registry) -> Followed[NamedTemplate]:
    """Return what templates that have a name are."""

    def refuse_unfit(use: Use, wanted: NamedTemplate) -> None:
        refuse_too_large_template(wanted.histogram, "template")
        registry.refuse_unfit_use(use, "template", {wanted.name: wanted}, registry.clocks)

    return Followed(
        noun="template",
        topic=TEMPLATES,
        is_followed="name the template",
        registered=registry.templates,
        uses=registry.uses_of_templates,
        read=_template_in,
        refuse_unfit=refuse_unfit,
    )


def _template_in(name: str, form: object) -> NamedTemplate:
    try:
        msgspec.convert(name, TemplateName)
    except msgspec.ValidationError:
        raise Problem(422, f"the name of a template is {name[:100]!r}: {TEMPLATE_NAME_IN_WORDS} is allowed") from None
    try:
        return NamedTemplate(name, unclocked_template(msgspec.convert(form, dict[str, Any])))
    except msgspec.ValidationError as error:
        fault = fault_in(error)
        raise Problem(422, f"the template is not usable: {fault.sentence}", **fault.members) from None
    except HistogramError as error:
        raise Problem(422, f"the template is not usable: {error}") from None
