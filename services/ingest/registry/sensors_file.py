"""config/sensors.yaml: sensors and templates as a person writes them, and as `GET /v1/sensors` gives them back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Meta, Struct

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.histogram import histogram_of_form
from services.common.settings import SettingsError, Streams, read_yaml
from services.ingest.registry.sensors import Name, Particulars, Sensor, particulars_of, refuse_unfit_template
from services.ingest.stamping.verdicts import Refused


class _DeclaredSensor(Particulars, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: Name
    area: Name
    streams: Annotated[dict[Name, str], Meta(min_length=1)]


class _File(Struct, forbid_unknown_fields=True):
    templates: dict[str, dict[str, Any]]
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


def load_sensors(path: Path, streams: Streams) -> dict[str, Sensor]:
    """Return the sensors declared at `path`, by id; a `SettingsError` says what is wrong with the file."""
    try:
        declared = msgspec.convert(read_yaml(path), _File)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {error}") from error
    templates = {name: _template(path, name, form) for name, form in declared.templates.items()}
    return {each.id: _sensor(path, each, templates, streams) for each in declared.sensors}


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
    return Sensor(declared.id, declared.area, MappingProxyType(by_stream), particulars_of(declared))


def _template(path: Path, name: str, form: dict[str, Any]) -> Histogram:
    try:
        return histogram_of_form(form)
    except HistogramError as error:
        raise SettingsError(f"{path}: template {name!r}: {error}") from error


LONGEST_LINE = 2**30  # so that no text is broken


def sensors_document(sensors: Callable[[], Iterable[Sensor]]) -> Iterator[str]:
    """Yield the file that declares the sensors, piece by piece; templates are named by their ids.

    `load_sensors` reads the same sensors back, to the last digit. `sensors` is called twice: 100,000 of them, each with
    a template of its own, need not be in memory at once.
    """
    yield "templates:\n"
    written: set[str] = set()
    for template in (each for sensor in sensors() for each in sensor.streams.values()):
        if template.id not in written:
            written.add(template.id)
            yield indent(_yaml({template.id: template.to_json()}), "  ")
    yield "sensors:\n" if written else "  {}\nsensors: []\n"
    for sensor in sensors() if written else ():
        yield _yaml([sensor.document])


def _yaml(document: Any) -> str:
    form: dict[str, Any] = {"sort_keys": False, "width": LONGEST_LINE, "default_flow_style": None}
    return str(yaml.dump(document, Dumper=yaml.CSafeDumper, **form))
