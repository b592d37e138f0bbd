"""config/sensors.yaml: sensors and templates as a person writes them, and as `GET /v1/sensors` gives them back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

import msgspec
import yaml
from msgspec import Meta, Struct

from coincide import Histogram
from coincide.clocks.template_forms import template_of_form
from coincide.errors import HistogramError
from coincide.wire.declarations.names import (
    FORMS_IN_WORDS,
    TEMPLATE_NAME_IN_WORDS,
    RegisteredName,
    SensorId,
    TemplateName,
)
from coincide.wire.declarations.sensor_record import Particulars
from services.common.fault_sentences import fault_of
from services.common.settings import SettingsError, Streams, read_yaml
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.sensors import Sensor, particulars_of, refuse_unfit_template
from services.ingest.verdicts import Refused


class _DeclaredSensor(Particulars, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: SensorId
    area: RegisteredName
    streams: Annotated[dict[RegisteredName, str], Meta(min_length=1)]


class _File(Struct, forbid_unknown_fields=True):
    templates: dict[RegisteredName, dict[str, Any]]
    sensors: list[_DeclaredSensor]

    def __post_init__(self) -> None:
        ids: set[str] = set()
        for sensor in self.sensors:
            if sensor.id in ids:
                raise ValueError(f"sensor {sensor.id!r} is declared twice")
            ids.add(sensor.id)
            for template in sensor.streams.values():
                if template not in self.templates:
                    raise ValueError(f"sensor {sensor.id!r} names template {template!r}, which is not declared")


class Declared(NamedTuple):
    """What the file declares: templates by their names, and sensors by their ids."""

    templates: Mapping[str, NamedTemplate]
    sensors: Mapping[str, Sensor]


def load_declared(path: Path, streams: Streams) -> Declared:
    """Return what is declared at `path`; a `SettingsError` says what is wrong with the file."""
    try:
        declared = msgspec.convert(read_yaml(path), _File)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {fault_of(error, FORMS_IN_WORDS)}") from error
    templates = {name: _template(path, name, form) for name, form in declared.templates.items()}
    sensors = {each.id: _sensor(path, each, templates, streams) for each in declared.sensors}
    named = {name: NamedTemplate(name, template) for name, template in templates.items() if name != template.id}
    return Declared(named, sensors)


def load_sensors(path: Path, streams: Streams) -> dict[str, Sensor]:
    """Return the sensors declared at `path`, by id; a `SettingsError` says what is wrong with the file."""
    return dict(load_declared(path, streams).sensors)


def _sensor(path: Path, declared: _DeclaredSensor, templates: Mapping[str, Histogram], streams: Streams) -> Sensor:
    for stream, template in declared.streams.items():
        if stream not in streams:
            known = ", ".join(streams)
            raise SettingsError(f"{path}: sensor {declared.id!r}: stream {stream!r} is not declared (one of {known})")
        try:
            refuse_unfit_template(templates[template], streams[stream], f"template {template}")
        except Refused as refused:
            raise SettingsError(f"{path}: sensor {declared.id!r}: {refused.detail}") from refused
    by_stream = {stream: templates[template] for stream, template in declared.streams.items()}
    names = {stream: name for stream, name in declared.streams.items() if name != by_stream[stream].id}
    particulars = particulars_of(declared)
    return Sensor(declared.id, declared.area, MappingProxyType(by_stream), particulars, names=MappingProxyType(names))


def _template(path: Path, name: str, form: dict[str, Any]) -> Histogram:
    """Return a template of the file; one whose name is the id of its content has no name."""
    try:
        template = template_of_form(form)
        if name != template.id:
            msgspec.convert(name, TemplateName)
    except HistogramError as error:
        raise SettingsError(f"{path}: template {name!r}: {error}") from error
    except msgspec.ValidationError:
        raise SettingsError(
            f"{path}: the name of a template is {name!r}: {TEMPLATE_NAME_IN_WORDS} is allowed"
        ) from None
    return template


LONGEST_LINE = 2**30  # so that no text is broken


def sensors_document(sensors: Callable[[], Iterable[Sensor]], templates: Iterable[NamedTemplate] = ()) -> Iterator[str]:
    """Yield the file that declares templates and sensors, piece by piece; what has no name is named by its id.

    `load_declared` reads the same back, to the last digit. `sensors` is called twice: 100,000 of them, each with a
    template of its own, need not be in memory at once.
    """
    yield "templates:\n"
    named = ((each.name, each.histogram) for each in templates)
    written: set[str] = set()
    for name, template in chain(named, (each for sensor in sensors() for each in sensor.templates.items())):
        if name not in written:
            written.add(name)
            yield indent(_yaml({name: template.to_json()}), "  ")
    yield "" if written else "  {}\n"
    some = False
    for sensor in sensors():
        yield _yaml([sensor.document]) if some else "sensors:\n" + _yaml([sensor.document])
        some = True
    yield "" if some else "sensors: []\n"


def _yaml(document: Any) -> str:
    form: dict[str, Any] = {"sort_keys": False, "width": LONGEST_LINE, "default_flow_style": None}
    return str(yaml.dump(document, Dumper=yaml.CSafeDumper, **form))
