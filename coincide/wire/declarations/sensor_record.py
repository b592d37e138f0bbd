"""Records of coincide.sensors and coincide.templates: what is registered, and which change made it so."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Raw, Struct

from coincide.errors import PlaceError
from coincide.places import place_of_form
from coincide.places.place import Place
from coincide.wire.declarations.names import RegisteredName, SensorId, TemplateName
from coincide.wire.fields import FormatVersion
from coincide.wire.last_change import Author, ChangeCount, ChangedAt, LastChange
from coincide.wire.place_field import PlaceForm

MOST_LABELS = 32
LONGEST_EXPECTED_S = 31_536_000.0  # a year

HistogramJson = Annotated[Raw, Meta(extra_json_schema={"$ref": "histogram.schema.json"})]


def place_said(form: object) -> Place:
    """Return the place that a document has as its `place`; raise PlaceError, which says what to write instead."""
    try:
        return place_of_form(form)
    except PlaceError as error:
        field = error.field if error.field == "place" else f"place.{error.field}"
        raise PlaceError(field, error.value, error.allowed) from None


class Particulars(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What somebody says of a sensor, and no detection carries."""

    model: (
        Annotated[RegisteredName, Meta(description="Kind of sensor; those of one kind may be learnt together.")] | None
    ) = None
    place: PlaceForm | None = None
    labels: Annotated[
        dict[RegisteredName, RegisteredName],
        Meta(max_length=MOST_LABELS, description="Whatever its owners want to say of it."),
    ] = {}
    expect_every_s: (
        Annotated[
            float,
            Meta(gt=0, le=LONGEST_EXPECTED_S, description="An alert fires if nothing comes from it for longer."),
        ]
        | None
    ) = None

    def __post_init__(self) -> None:
        if self.place is not None:
            place_said(self.place)


class SensorRecord(Particulars, frozen=True, forbid_unknown_fields=False, omit_defaults=True, kw_only=True):
    """A sensor, its area, the template of each stream it reports, and what else is said of it.

    Key: the sensor id. The topic is compacted; a null value removes the sensor.
    """

    v: FormatVersion
    sensor: Annotated[SensorId, Meta(description="Id of the sensor; also the record's key.")]
    area: Annotated[RegisteredName, Meta(description="The area it stands in.")]
    streams: Annotated[Mapping[RegisteredName, HistogramJson], Meta(min_length=1)]
    templates: Annotated[
        Mapping[RegisteredName, TemplateName],
        Meta(description="By stream the name of its template on coincide.templates; without those that have none."),
    ] = {}
    version: ChangeCount = 0
    changed_at_us: ChangedAt | None = None
    changed_by: Author | None = None


class TemplateRecord(LastChange, frozen=True, omit_defaults=True, kw_only=True):
    """A template that has a name.

    Key: the name. The topic is compacted; a null value removes the template. Sensors that name it have it in full in
    their own records.
    """

    v: FormatVersion
    template: Annotated[TemplateName, Meta(description="Name of the template; also the record's key. No id of one.")]
    histogram: HistogramJson
