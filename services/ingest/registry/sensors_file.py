"""config/sensors.yaml: sensors and templates as a person writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from coincide import Histogram
from coincide.errors import HistogramError
from coincide.templates.forms import histogram_of_form
from services.common.declared_streams import Streams
from services.common.problem import describe_errors
from services.common.settings import SettingsError, read_yaml
from services.ingest.registry.sensors import Sensor, refuse_unfit_template
from services.ingest.stamping.verdicts import Refused

Name = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]


class _Sensor(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: Name
    area: Name
    streams: dict[Name, str] = Field(min_length=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    templates: dict[str, dict[str, Any]]
    sensors: list[_Sensor]

    @model_validator(mode="after")
    def _refuse_doubles_and_strangers(self) -> Self:
        seen: set[str] = set()
        for sensor in self.sensors:
            if sensor.id in seen:
                raise ValueError(f"sensor {sensor.id!r} is declared twice")
            seen.add(sensor.id)
            for template in sensor.streams.values():
                if template not in self.templates:
                    raise ValueError(f"sensor {sensor.id!r} names template {template!r}, which is not declared")
        return self


def load_sensors(path: Path, streams: Streams) -> dict[str, Sensor]:
    """Return the sensors declared at `path`, by id.

    Raises
    ------
    SettingsError
        The file cannot be read; a declaration is not valid; a stream is not declared or its templates are shorter.
    """
    try:
        declared = _File.model_validate(read_yaml(path))
    except ValidationError as error:
        raise SettingsError(f"{path}: {describe_errors(error)}") from error
    templates = {name: _template(path, name, form) for name, form in declared.templates.items()}
    return {each.id: _sensor(path, each, templates, streams) for each in declared.sensors}


def _sensor(path: Path, declared: _Sensor, templates: Mapping[str, Histogram], streams: Streams) -> Sensor:
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
