"""config/sensors.yaml: sensors and what they name, as a person writes it and `GET /v1/sensors` gives it back."""

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
from coincide.clocks.template_forms import template_beside
from coincide.errors import HistogramError, PlaceError
from coincide.wire.declarations.clock_record import ClockId
from coincide.wire.declarations.names import (
    FORMS_IN_WORDS,
    TEMPLATE_NAME_IN_WORDS,
    RegisteredName,
    SensorId,
    TemplateName,
)
from coincide.wire.declarations.sensor_record import Particulars, place_said
from services.common.fault_sentences import fault_of
from services.common.settings import SettingsError, Streams, read_yaml
from services.ingest.registry.area_places import AreaPlaces, Placed
from services.ingest.registry.named_templates import NamedTemplate, unclocked_template
from services.ingest.registry.registered_clocks import ClockDocument, RegisteredClock
from services.ingest.registry.sensor_documents import names_in
from services.ingest.registry.sensors import Sensor, particulars_of, refuse_unfit_template
from services.ingest.verdicts import Refused


class _DeclaredSensor(Particulars, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: SensorId
    area: RegisteredName
    clock: ClockId | None = None
    streams: Annotated[dict[RegisteredName, str | dict[str, str]], Meta(min_length=1)]

    @property
    def named(self) -> list[str]:
        """The templates that it names."""
        said = [[each] if isinstance(each, str) else each.values() for each in self.streams.values()]
        return list(chain.from_iterable(said))


class _File(Struct, forbid_unknown_fields=True):
    templates: dict[RegisteredName, dict[str, Any]]
    sensors: list[_DeclaredSensor]
    clocks: dict[ClockId, ClockDocument] = {}

    def __post_init__(self) -> None:
        ids: set[str] = set()
        for sensor in self.sensors:
            if sensor.id in ids:
                raise ValueError(f"sensor {sensor.id!r} is declared twice")
            ids.add(sensor.id)
            for template in sensor.named:
                if template not in self.templates:
                    raise ValueError(f"sensor {sensor.id!r} names template {template!r}, which is not declared")
            if sensor.clock is not None and sensor.clock not in self.clocks:
                raise ValueError(f"sensor {sensor.id!r} names clock {sensor.clock!r}, which is not declared")


class Declared(NamedTuple):
    """What the file declares: templates by their names, sensors by their ids, and clocks by theirs."""

    templates: Mapping[str, NamedTemplate]
    sensors: Mapping[str, Sensor]
    clocks: Mapping[str, RegisteredClock] = MappingProxyType({})


def load_declared(path: Path, streams: Streams) -> Declared:
    """Return what is declared at `path`; a `SettingsError` says what is wrong with the file."""
    written = read_yaml(path)
    _refuse_slips_of_places(path, written)
    try:
        declared = msgspec.convert(written, _File)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path}: {fault_of(error, FORMS_IN_WORDS)}") from error
    templates = {name: _template(path, name, form) for name, form in declared.templates.items()}
    clocks = {name: _clock(path, name, said) for name, said in declared.clocks.items()}
    sensors = {each.id: _sensor(path, each, templates, clocks, streams) for each in declared.sensors}
    _refuse_mixed_places(path, sensors.values())
    named = {name: NamedTemplate(name, template) for name, template in templates.items() if name != template.id}
    return Declared(named, sensors, clocks)


def _refuse_slips_of_places(path: Path, written: object) -> None:
    sensors = written.get("sensors") if isinstance(written, dict) else None
    for each in sensors if isinstance(sensors, list) else ():
        if not isinstance(each, dict) or each.get("place") is None:
            continue
        try:
            place_said(each["place"])
        except PlaceError as error:
            raise SettingsError(f"{path}: sensor {each.get('id')!r}: {error}") from None


def _refuse_mixed_places(path: Path, sensors: Iterable[Sensor]) -> None:
    places = AreaPlaces()
    for each in sensors:
        place = each.particulars.place
        if place is None:
            continue
        if said := places.conflict(each.area, place):
            raise SettingsError(f"{path}: sensor {each.id!r}: place is {place}: {said}")
        places.add(Placed(each.id, each.area, place))


def load_sensors(path: Path, streams: Streams) -> dict[str, Sensor]:
    """Return the sensors declared at `path`, by id; a `SettingsError` says what is wrong with the file."""
    return dict(load_declared(path, streams).sensors)


def _sensor(
    path: Path,
    declared: _DeclaredSensor,
    templates: Mapping[str, Histogram],
    clocks: Mapping[str, RegisteredClock],
    streams: Streams,
) -> Sensor:
    clock = clocks[declared.clock].clock if declared.clock is not None else None
    by_stream: dict[str, Histogram] = {}
    for stream, said in declared.streams.items():
        if stream not in streams:
            known = ", ".join(streams)
            raise SettingsError(f"{path}: sensor {declared.id!r}: stream {stream!r} is not declared (one of {known})")
        try:
            by_stream[stream] = template_beside(clock, said, templates.__getitem__)
            refuse_unfit_template(by_stream[stream], streams[stream], f"template {_called(said)}")
        except Refused as refused:
            raise SettingsError(f"{path}: sensor {declared.id!r}: {refused.detail}") from refused
        except HistogramError as error:
            raise SettingsError(f"{path}: sensor {declared.id!r}: streams.{stream}: {error}") from error
    names = {stream: name for stream, name in names_in(declared.streams).items() if name != templates[name].id}
    of_streams, by_name = MappingProxyType(by_stream), MappingProxyType(names)
    return Sensor(declared.id, declared.area, of_streams, particulars_of(declared), names=by_name)


def _called(said: str | dict[str, str]) -> str:
    return said if isinstance(said, str) else said["own"]


def _clock(path: Path, name: str, said: ClockDocument) -> RegisteredClock:
    if said.id not in {None, name}:
        raise SettingsError(f"{path}: clock {name!r}: id is {said.id!r}: leave it out")
    try:
        return RegisteredClock.of_document(name, said)
    except HistogramError as error:
        raise SettingsError(f"{path}: clock {name!r}: {error}") from error


def _template(path: Path, name: str, form: dict[str, Any]) -> Histogram:
    """Return a template of the file; one whose name is the id of its content has no name."""
    try:
        template = unclocked_template(form)
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


def sensors_document(
    sensors: Callable[[], Iterable[Sensor]],
    templates: Iterable[NamedTemplate] = (),
    clocks: Iterable[RegisteredClock] = (),
) -> Iterator[str]:
    """Yield the file that declares clocks, templates and sensors, piece by piece; what has no name is named by its id.

    `load_declared` reads the same back, to the last digit. `sensors` is called twice: 100,000 of them, each with a
    template of its own, need not be in memory at once.
    """
    for nth, clock in enumerate(clocks):
        yield ("" if nth else "clocks:\n") + indent(_yaml({clock.name: clock.document}), "  ")
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
