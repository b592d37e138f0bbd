"""Templates that have a name as what people change: what a form declares, and what the sensors that name one refuse."""

from typing import Any

import msgspec

from coincide.errors import HistogramError
from coincide.wire.declarations.names import TEMPLATE_NAME_IN_WORDS, TemplateName
from services.common.fault_sentences import fault_in
from services.common.http.problem import Problem
from services.common.resources.resource import Resource, at_hand, version_of
from services.ingest.registry.followed_changes import FollowedChanges
from services.ingest.registry.named_templates import TEMPLATES, NamedTemplate, audited_template, unclocked_template
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import refuse_too_large_template
from services.ingest.registry.snapshot import Registry
from services.ingest.registry.template_renewal import record_of
from services.ingest.verdicts import Refused

MOST_TEMPLATES = 10_000


def template_changes(sensors: SensorChanges) -> FollowedChanges[NamedTemplate]:
    """Return the one way in which ingest changes templates that have a name."""
    registry = sensors.registry
    return FollowedChanges(template_resource(registry), sensors, registry.templates.keys(), registry.uses_of_templates)


def template_resource(registry: Registry) -> Resource[NamedTemplate]:
    """Return what templates that have a name are."""
    return Resource(
        noun="template",
        topic=TEMPLATES,
        not_ready_because=registry.unread,
        present=at_hand(registry.templates.get),
        version=version_of,
        read=lambda name, form, _: _template_in(name, form),
        document=lambda template: template.histogram.to_json(),
        refuse=lambda name, _, wanted: _refuse_impossible(registry, name, wanted),
        record=record_of,
        audited=audited_template,
    )


def _refuse_impossible(registry: Registry, name: str, wanted: NamedTemplate | None) -> None:
    use = registry.uses_of_templates({name})[name]
    if wanted is None and use.sensors:
        raise Problem(409, f"{len(use.sensors)} sensors name the template {name!r}: change or remove them first")
    if name not in registry.templates and len(registry.templates) >= MOST_TEMPLATES:
        raise Problem(409, f"there are {len(registry.templates)} templates, the most allowed; remove one first")
    if wanted is None:
        return
    try:
        refuse_too_large_template(wanted.histogram, "template")
        registry.refuse_unfit_use(use, "template", {name: wanted}, registry.clocks)
    except Refused as refused:
        raise Problem(422, refused.detail) from None
    except HistogramError as error:
        raise Problem(422, f"the template is not usable: {error}") from None


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
