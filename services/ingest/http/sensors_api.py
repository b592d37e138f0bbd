"""GET /v1/sensors and /v1/sensors/{id}: what the registry holds now, and what fusion hears."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, WithJsonSchema

from coincide.learning.drift import is_drift
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.fields import LONGEST_NAME
from coincide.wire.place_field import PlaceForm
from coincide.wire.sensor_health import SensorHealth
from services.common.health_board import HealthBoard
from services.common.http.pages import (
    Page,
    PageParameters,
    page_of_names,
)
from services.common.http.problem import Problem
from services.common.http.route_table import IN_PATH
from services.common.resources.routes import Described, add_routes
from services.ingest.http.request_limits import JsonBody
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import NO_PARTICULARS
from services.ingest.registry.sensors_file import sensors_document
from services.ingest.registry.snapshot import Registry, Snapshot
from services.ingest.settings import IngestSettings

MOST_LOOKED_AT = 20_000  # sensors, for one page: a filter that few pass makes short pages
LONGEST_SILENCE_S = 1e9
YAML = "application/yaml"
SensorId = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH)]


#: A place in an answer, as it stands in records.
PlaceBody = Annotated[dict[str, float], WithJsonSchema(msgspec.json.schema(PlaceForm))]


class DriftBody(BaseModel):
    """How recent errors fit their template: leave-one-out errors of members of matches of three and more."""

    template: str = Field(description="template of the newest error")
    errors: int = Field(description="how many; beyond 200 older ones count less")
    distance: float = Field(description="greatest distance of the P-P plot from its diagonal: 0 if the template fits")
    p_value: float = Field(description="probability of so great a distance if the template is right")
    levels: list[int] = Field(description="errors in each twentieth of their template's probability, lowest first")
    spread: float = Field(description="how many times as wide as the template says the errors are: 1 if it fits")
    spread_p_value: float = Field(description="probability of a spread so far from 1 if the template is right")


class HealthBody(BaseModel):
    """What fusion has heard of a sensor on a stream; a few seconds old."""

    last_seen_us: int = Field(description="when ingest received the newest detection")
    rate_hz: float | None = Field(description="detections a second until then; older ones count less")
    late_share: float = Field(description="share of detections that came too late to be joined")
    echo_share: float = Field(description="share of detections that were found to be echoes, of a stream with echo_s")
    drift: DriftBody | None = Field(description="null until a match of three and more members has told an error of it")


class BesideClockBody(BaseModel):
    """How a template is declared beside a clock, by names or ids of templates."""

    own: str = Field(description="what is left of the sensor's error once the clock is right")
    template: str | None = Field(None, description="the whole error, if it was learnt; else it is the sum")


class SensorBody(BaseModel):
    """A sensor: its area and the template id of each stream it reports, and how it does."""

    id: str
    area: str
    streams: dict[str, str] = Field(description="template id by stream")
    templates: dict[str, str] = Field(description="by stream the name of its template, where it has one")
    clock: str | None = Field(None, description="the clock that it reports by; null if it shares none")
    beside_clock: dict[str, BesideClockBody] = Field(
        {}, description="by stream how its template is declared beside its clock; empty without one"
    )
    model: str | None = None
    place: PlaceBody | None = None
    labels: dict[str, str] = {}
    expect_every_s: float | None = Field(None, description="an alert fires if nothing comes from it for longer")
    version: int = Field(description="how often it was changed; the ETag. 0: it was seeded, and never changed since")
    changed_at_us: int | None = None
    changed_by: str | None = None
    health: dict[str, HealthBody] = Field(description="by stream; without those that fusion has not heard of")


class SensorPage(Page[SensorBody]):
    """A page of sensors in the order of their ids; with filters it may be short although more follow."""


class SensorFilters(PageParameters):
    """Which sensors; each filter narrows the others."""

    area: str | None = Field(None, max_length=LONGEST_NAME, description="Only sensors of this area.")
    clock: str | None = Field(None, max_length=LONGEST_NAME, description="Only sensors on this clock.")
    stream: str | None = Field(None, max_length=LONGEST_NAME, description="Only sensors that report this stream.")
    model: str | None = Field(None, max_length=LONGEST_NAME, description="Only sensors of this model.")
    silent_for_s: float | None = Field(
        None,
        ge=0,
        le=LONGEST_SILENCE_S,
        description="Only sensors with a stream, or with `stream` that one, of which nothing came for so long.",
    )
    label: str | None = Field(
        None,
        pattern=r"^[^:]+:.+$",
        max_length=2 * LONGEST_NAME + 1,
        description="Only sensors that have this label, written as site:north.",
    )
    late_over: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Only sensors with a stream, or with `stream` that one, of which a greater share came too late.",
    )
    drifts: bool | None = Field(
        None,
        description="true: only sensors with a stream, or with `stream` that one, whose template no longer fits; "
        "false: with one whose template fits, or of which nobody knows.",
    )
    format: Literal["json", "yaml"] = Field(
        "json", description="yaml: all that pass the filters, as config/sensors.yaml is written, and without health."
    )

    @property
    def chosen(self) -> tuple[object, ...]:
        """What a cursor holds for."""
        of_health = self.silent_for_s, self.late_over, self.drifts
        return "sensors", self.area, self.clock, self.stream, self.model, self.label, *of_health


@dataclass(frozen=True)
class SensorListing:
    """The sensors of one snapshot, as they are shown, and those that pass filters."""

    snapshot: Snapshot
    heard: HealthBoard
    now_us: int

    def body(self, sensor_id: str) -> SensorBody:
        """Return the body that shows a sensor."""
        stamps = self.snapshot.stamps[sensor_id]
        heard = {stamp.stream: self.heard.of(sensor_id, stamp.stream) for stamp in stamps}
        clock = stamps[0].template.clock
        sensor = self.snapshot.sensor(sensor_id) if clock else None
        return SensorBody(
            id=sensor_id,
            area=stamps[0].area,
            clock=clock,
            beside_clock=dict(sensor.document["streams"]) if sensor else {},
            streams={stamp.stream: stamp.template.id for stamp in stamps},
            templates={stamp.stream: stamp.template.name for stamp in stamps if stamp.template.name is not None},
            health={stream: _health_body(each) for stream, each in heard.items() if each is not None},
            **msgspec.structs.asdict(self.snapshot.change(sensor_id)),
            **msgspec.to_builtins(self.snapshot.particulars.get(sensor_id, NO_PARTICULARS)),
        )

    def passes(self, sensor_id: str, filters: SensorFilters) -> bool:
        """Whether a sensor passes all filters."""
        stamps = self.snapshot.stamps[sensor_id]
        streams = [stamp.stream for stamp in stamps if filters.stream in {None, stamp.stream}]
        return (
            bool(streams)
            and filters.area in {None, stamps[0].area}
            and filters.clock in {None, stamps[0].template.clock}
            and _is_described(self.snapshot.particulars.get(sensor_id, NO_PARTICULARS), filters)
            and any(self._is_heard(self.heard.of(sensor_id, each), filters) for each in streams)
        )

    def _is_heard(self, heard: SensorHealth | None, filters: SensorFilters) -> bool:
        """Whether a stream of a sensor passes the filters of what is heard; None: nothing is."""
        silent_for_s, late_over, drifts = filters.silent_for_s, filters.late_over, filters.drifts
        if heard is None:
            return late_over is None and not drifts
        drift = heard.drift
        return (
            (silent_for_s is None or self.now_us - heard.last_seen_us >= silent_for_s * 1e6)
            and (late_over is None or heard.late_share > late_over)
            and drifts in {None, drift is not None and is_drift(drift)}
        )

    def document(
        self, filters: SensorFilters, templates: Iterable[NamedTemplate], clocks: Iterable[RegisteredClock] = ()
    ) -> Iterator[str]:
        """Yield the file that declares those that pass, templates that have a name, and clocks."""
        chosen = [each for each in self.snapshot.ids if self.passes(each, filters)]
        return sensors_document(lambda: filter(None, map(self.snapshot.sensor, chosen)), templates, clocks)


def sensors_router(changes: SensorChanges, settings: IngestSettings) -> APIRouter:
    """Return the routes that show the registry, and change sensors one at a time."""
    router, registry = APIRouter(prefix="/v1/sensors", tags=["sensors"]), changes.registry

    def registered() -> SensorListing:
        return SensorListing(registry.snapshot, registry.health, changes.clock_us())

    def show(sensor_id: str) -> SensorBody:
        sensors = registered()
        if sensor_id not in sensors.snapshot.stamps:
            raise Problem(404, f"no sensor {sensor_id!r} is registered")
        return sensors.body(sensor_id)

    _add_reading(router, registry, registered)
    described = Described(
        parameter="sensor_id",
        longest=LONGEST_NAME,
        body=SensorBody,
        show=show,
        effect="detections are stamped by it",
        form="A template is a form, the name of one, or the id of one in use. Beside a `clock` each stream has `own`, "
        "and `template` if the whole was learnt.",
        removal="Remove it: its detections are refused from then on. What it reported before stays.",
    )
    add_routes(router, changes.one.of, changes.one.make, JsonBody(settings), described)
    return router


def _add_reading(router: APIRouter, registry: Registry, registered: Callable[[], SensorListing]) -> None:
    @router.get(
        "",
        summary="List sensors",
        response_model=SensorPage,
        responses={200: {"content": {YAML: {"schema": {"type": "object"}}}}},
    )
    def list_sensors(wanted: Annotated[SensorFilters, Query()]) -> SensorPage | StreamingResponse:
        """Return sensors by id; a page begins behind the last sensor of the one before, whatever came or went."""
        sensors = registered()
        if wanted.format == "yaml":
            declared = registry.templates.values(), registry.clocks.values()
            return StreamingResponse(sensors.document(wanted, *declared), media_type=YAML)
        passes = partial(sensors.passes, filters=wanted)
        chosen, more = page_of_names(sensors.snapshot.ids, wanted, wanted.chosen, passes, MOST_LOOKED_AT)
        return SensorPage(items=[sensors.body(each) for each in chosen], next_cursor=more)


def _is_described(particulars: Particulars, filters: SensorFilters) -> bool:
    """Whether what is said of a sensor passes the filters of it."""
    labels = {f"{name}:{value}" for name, value in particulars.labels.items()}
    return filters.model in {None, particulars.model} and filters.label in {None, *labels}


def _health_body(health: SensorHealth) -> HealthBody:
    drift = None if health.drift is None else DriftBody(**msgspec.structs.asdict(health.drift))
    return HealthBody(
        last_seen_us=health.last_seen_us,
        rate_hz=health.rate_hz,
        late_share=health.late_share,
        echo_share=health.echo_share,
        drift=drift,
    )
