"""Changing one template that has a name: checked, written, and then given to every sensor that names it."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from coincide.clocks.template_forms import template_of_form
from coincide.errors import HistogramError
from coincide.wire.declarations.names import TEMPLATE_NAME_IN_WORDS, TemplateName
from services.common.access.caller import NOBODY, Caller
from services.common.fault_sentences import fault_in
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem
from services.common.resources.changes import Changes
from services.common.resources.resource import Edit, Resource, at_hand, version_of
from services.ingest.registry.named_templates import TEMPLATES, NamedTemplate, audited_template, record_of
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import refuse_too_large_template, refuse_unfit_template
from services.ingest.registry.snapshot import Registry
from services.ingest.verdicts import Refused

MOST_TEMPLATES = 10_000
TRY_AGAIN_S = 1.0

log = logging.getLogger(__name__)


@dataclass
class TemplateChanges:
    """The one way in which ingest changes templates that have a name, one change at a time."""

    sensors: SensorChanges
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        sensors = self.sensors.one
        self.one = Changes(template_resource(self.sensors.registry), sensors.publisher, sensors.audit, sensors.clock_us)

    async def make(self, name: str, edit: Edit[NamedTemplate], precondition: Precondition, who: Caller) -> bool:
        """Change a template as `Changes.make` does; every sensor that names it has it when this returns.

        After a `Problem`, 503, some sensors may not have it yet: the same change again gives it to the rest.
        """
        async with self._one_at_a_time:
            async with self.sensors.one.one_at_a_time:  # no sensor comes to name a template that goes
                created = await self.one.make(name, edit, precondition, who)
            await self.sensors.renew(name, who)
            return created

    async def finish(self) -> None:
        """Give templates to the sensors that lack them, because ingest ended in the midst of a change of a template.

        It begins once everything registered was read, and tries again while Kafka does not take the records.
        """
        while True:
            if await self._finish_now():
                return
            await asyncio.sleep(TRY_AGAIN_S)

    async def _finish_now(self) -> bool:
        if self.sensors.registry.unread():
            return False
        for name, sensors in (await run_in_threadpool(self._behind)).items():
            log.info("finishing the change of template %s, which %d sensors lack", name, sensors)
            try:
                async with self._one_at_a_time:
                    await self.sensors.renew(name, NOBODY)
            except Problem as problem:
                log.warning("the change of template %s is not finished: %s", name, problem.detail)
                return False
        return True

    def _behind(self) -> dict[str, int]:
        uses = self.sensors.registry.uses(frozenset(self.sensors.registry.templates))
        return {name: len(use.behind) for name, use in uses.items() if use.behind}


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
    use = registry.uses({name})[name]
    if wanted is None and use.sensors:
        raise Problem(409, f"{len(use.sensors)} sensors name the template {name!r}: change or remove them first")
    if name not in registry.templates and len(registry.templates) >= MOST_TEMPLATES:
        raise Problem(409, f"there are {len(registry.templates)} templates, the most allowed; remove one first")
    if wanted is None:
        return
    try:
        refuse_too_large_template(wanted.histogram, "template")
        for stream in use.streams & registry.streams.keys():
            refuse_unfit_template(wanted.histogram, registry.streams[stream], "template")
    except Refused as refused:
        raise Problem(422, refused.detail) from None


def _template_in(name: str, form: object) -> NamedTemplate:
    try:
        msgspec.convert(name, TemplateName)
    except msgspec.ValidationError:
        raise Problem(422, f"the name of a template is {name[:100]!r}: {TEMPLATE_NAME_IN_WORDS} is allowed") from None
    try:
        return NamedTemplate(name, template_of_form(msgspec.convert(form, dict[str, Any])))
    except msgspec.ValidationError as error:
        fault = fault_in(error)
        raise Problem(422, f"the template is not usable: {fault.sentence}", **fault.members) from None
    except HistogramError as error:
        raise Problem(422, f"the template is not usable: {error}") from None
