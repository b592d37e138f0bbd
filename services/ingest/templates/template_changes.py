"""Changing one template that has a name: checked, written, and then given to every sensor that names it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.histogram import histogram_of_form
from services.common.access.caller import NOBODY, Caller
from services.common.fault_sentences import fault_of
from services.common.http.preconditions import Precondition, merge_patch
from services.common.http.problem import Problem
from services.ingest.registry.named_templates import TEMPLATES, NamedTemplate, audited_template
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import (
    TEMPLATE_NAME_IN_WORDS,
    LastChange,
    TemplateName,
    refuse_too_large_template,
    refuse_unfit_template,
)
from services.ingest.registry.versioned_records import VersionedRecords, try_again
from services.ingest.verdicts import Refused

MOST_TEMPLATES = 10_000
TRY_AGAIN_S = 1.0

log = logging.getLogger(__name__)

TemplateEdit = Callable[[Histogram | None], Histogram | None]
"""From what a template is to what it shall be; None: it is not, or shall not be."""


@dataclass
class TemplateChanges:
    """The one way in which ingest changes templates that have a name, one change at a time."""

    sensors: SensorChanges
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self._records = VersionedRecords(self.sensors.publisher, TEMPLATES)

    async def make(self, name: str, edit: TemplateEdit, precondition: Precondition, who: Caller) -> bool:
        """Change a template; return whether it was created. An edit that changes nothing makes no new version.

        Every sensor that names it has it when this returns: detections stamped from then on get it.

        Raises `Problem`: 404, 409, 412, 422 or 428 and nothing was changed; 503 when Kafka did not acknowledge in time,
        and then the change may still take effect, or some sensors may not have it yet: the same change again gives it
        to the rest.
        """
        async with self._one_at_a_time:
            async with self.sensors.one_at_a_time:  # no sensor comes to name a template that goes
                created = await self._make(name, edit, precondition, who)
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
        if not self.sensors.registry.can_change:
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

    async def _make(self, name: str, edit: TemplateEdit, precondition: Precondition, who: Caller) -> bool:
        templates = self.sensors.registry.templates
        if not self.sensors.registry.can_change:
            raise try_again("the templates and sensors have not been read yet")
        present = templates.get(name)
        was = None if present is None else present.histogram
        wanted = edit(was)
        precondition.check(None if present is None else present.change.version, "template")
        if wanted == was:
            return False
        await run_in_threadpool(self._refuse_impossible, name, wanted)
        version = self._records.next_version(name, 0 if present is None else present.change.version)
        change = LastChange(version, self.sensors.clock_us(), who.key)
        changed = None if wanted is None else NamedTemplate(name, wanted, change)
        await self._write(name, changed)
        await asyncio.to_thread(self.sensors.audit.note, who, *audited_template(name, present, changed))
        return present is None

    def _refuse_impossible(self, name: str, wanted: Histogram | None) -> None:
        registry = self.sensors.registry
        use = registry.uses({name})[name]
        if wanted is None and use.sensors:
            raise Problem(409, f"{len(use.sensors)} sensors name the template {name!r}: change or remove them first")
        if name not in registry.templates and len(registry.templates) >= MOST_TEMPLATES:
            raise Problem(409, f"there are {len(registry.templates)} templates, the most allowed; remove one first")
        if wanted is None:
            return
        try:
            refuse_too_large_template(wanted, "template")
            for stream in use.streams & registry.streams.keys():
                refuse_unfit_template(wanted, registry.streams[stream], "template")
        except Refused as refused:
            raise Problem(422, refused.detail) from None

    async def _write(self, name: str, changed: NamedTemplate | None) -> None:
        def is_shown() -> bool:
            shown = self.sensors.registry.templates.get(name)
            if shown is None or changed is None:
                return shown is changed
            return shown.change.version >= changed.change.version

        await self._records.write(name.encode(), None if changed is None else changed.to_record(), is_shown)


def removed(present: Histogram | None) -> None:
    """Remove the template; a `TemplateEdit`."""
    if present is None:
        raise Problem(404, "there is no such template")


def replaced(name: str, form: object) -> TemplateEdit:
    """Return the edit that makes a template what a form says; a `Problem`, 422, says what is wrong with it."""
    return lambda _: _template_in(name, form)


def merged(name: str, patch: object) -> TemplateEdit:
    """Return the edit that applies a merge patch to a template's edges and masses."""

    def edit(present: Histogram | None) -> Histogram:
        if present is None:
            raise Problem(404, f"no template is named {name[:100]!r}")
        return _template_in(name, merge_patch(present.to_json(), patch))

    return edit


def _template_in(name: str, form: object) -> Histogram:
    try:
        msgspec.convert(name, TemplateName)
    except msgspec.ValidationError:
        raise Problem(422, f"the name of a template is {name[:100]!r}: {TEMPLATE_NAME_IN_WORDS} is allowed") from None
    try:
        return histogram_of_form(msgspec.convert(form, dict[str, Any]))
    except msgspec.ValidationError as error:
        raise Problem(422, f"the template is not usable: {fault_of(error)}") from None
    except HistogramError as error:
        raise Problem(422, f"the template is not usable: {error}") from None
