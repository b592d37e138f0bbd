"""GET, PUT, PATCH and DELETE /v1/templates: what sensors share under a name, changed while the system runs."""

from collections.abc import Collection
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from coincide.wire.fields import LONGEST_NAME
from services.common.http.pages import (
    Page,
    PageParameters,
    page_of_names,
)
from services.common.http.preconditions import entity_tag
from services.common.http.problem import Problem
from services.common.http.route_table import IN_PATH
from services.common.resources.routes import Described, add_routes
from services.ingest.http.histogram_body import EdgesSeconds, HistogramBody, Mass
from services.ingest.http.request_limits import JsonBody
from services.ingest.registry.followed_changes import FollowedChanges
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings

CHOSEN = ("templates",)  # what a cursor holds for
TemplateName = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH)]
MISSING: dict[int | str, dict[str, Any]] = {404: {"description": "No such template"}}


def _is_absent(value: object) -> bool:
    return value is None


class ClockBody(BaseModel):
    """A clock that several sensors report by."""

    id: str = Field(description="templates on clocks of one name share its error")
    error: HistogramBody = Field(description="by how much it may be slow")


class TemplateBody(BaseModel):
    """A template: the distribution of (occurrence - reported time)."""

    id: str = Field(description="t- and a hash of the content")
    edges_s: EdgesSeconds
    mass: Mass
    own: HistogramBody | None = Field(
        None, exclude_if=_is_absent, description="what is left of it once its clock is right; absent without one"
    )
    clock: ClockBody | None = Field(
        None, exclude_if=_is_absent, description="the clock that its sensors share; absent if they share none"
    )


class NamedTemplateBody(TemplateBody):
    """A template that has a name."""

    name: str
    sensors: int = Field(description="how many sensors name it")
    behind: int = Field(description="how many of them do not have it as it is now, because a change is not finished")
    version: int = Field(description="how often it was changed; the ETag. 0: it was seeded, and never changed since")
    changed_at_us: int | None = None
    changed_by: str | None = None


class TemplatePage(Page[NamedTemplateBody]):
    """A page of templates in the order of their names."""


def templates_router(changes: FollowedChanges[NamedTemplate], settings: IngestSettings) -> APIRouter:
    """Return the routes that show and change templates."""
    router, registry = APIRouter(prefix="/v1/templates", tags=["templates"]), changes.sensors.registry
    _add_reading(router, registry)
    described = Described(
        parameter="name",
        longest=LONGEST_NAME,
        body=NamedTemplateBody,
        show=lambda name: _shown(registry, [name])[0],
        effect="every sensor that names it has it",
        form="The body is a form as in config/sensors.yaml; a patch changes its `edges_s` and `mass`.",
        removal="Remove a template that no sensor names.",
        conflict="A sensor names it, or there are too many",
        has_get=False,
    )
    add_routes(router, changes.of, changes.make, JsonBody(settings), described)
    return router


def _add_reading(router: APIRouter, registry: Registry) -> None:
    @router.get("", summary="List templates that have a name")
    def list_templates(wanted: Annotated[PageParameters, Query()]) -> TemplatePage:
        """Return them by name."""
        page, more = page_of_names(sorted(registry.templates), wanted, CHOSEN)
        return TemplatePage(items=_shown(registry, page), next_cursor=more)

    @router.get("/{name}", summary="Show one template", responses=MISSING)
    def show_template(name: TemplateName, response: Response) -> NamedTemplateBody | TemplateBody:
        """Return the template of this name, and its ETag; or of this id, if a registered sensor has it."""
        named = _shown(registry, [name])
        if named:
            response.headers["ETag"] = entity_tag(named[0].version)
            return named[0]
        template = registry.snapshot.template(name)
        if template is None:
            raise Problem(404, f"no template is named {name!r}, and no registered sensor uses one of that id")
        return TemplateBody(id=template.id, **template.histogram.to_json())


def _shown(registry: Registry, names: Collection[str]) -> list[NamedTemplateBody]:
    """Return those of these templates that there are. It looks at every sensor once."""
    templates, uses = registry.templates, registry.uses_of_templates(names)
    return [
        NamedTemplateBody(
            name=name,
            id=template.histogram.id,
            sensors=len(uses[name].sensors),
            behind=len(uses[name].behind),
            **template.histogram.to_json(),
            **msgspec.structs.asdict(template.change),
        )
        for name in names
        if (template := templates.get(name)) is not None
    ]
