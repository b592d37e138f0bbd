"""config/sensors.yaml: sensors and templates as a person writes them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.histogram import histogram_of_form
from services.common.settings import SettingsError, Streams, read_yaml
from services.ingest.registry.sensors import Name, Sensor, refuse_unfit_template
from services.ingest.stamping.verdicts import Refused


class _DeclaredSensor(Struct, forbid_unknown_fields=True):
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
    return Sensor(declared.id, declared.area, MappingProxyType(by_stream))


def _template(path: Path, name: str, form: dict[str, Any]) -> Histogram:
    try:
        return histogram_of_form(form)
    except HistogramError as error:
        raise SettingsError(f"{path}: template {name!r}: {error}") from error
