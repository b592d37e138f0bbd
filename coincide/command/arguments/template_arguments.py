"""Templates that a user names: a JSON object of them, or sensors with templates as config/sensors.yaml has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from coincide.clocks import Clock
from coincide.clocks.template_forms import clocks_of_forms, template_beside, template_of_form
from coincide.command.faults import CommandError, shown
from coincide.errors import HistogramError
from coincide.templates.histogram import Histogram

SHORT_FORMS = "a name in the templates file, uniform:LO,HI (seconds), normal:SIGMA or normal:SIGMA,BUCKETS, or point"


@dataclass(frozen=True)
class DeclaredSensor:
    """A sensor with the name of its template on each of its streams."""

    id: str
    area: str
    streams: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class FileTemplates:
    """Templates by name, and the sensors that were declared with them: none if the file has templates only."""

    by_name: Mapping[str, Histogram] = field(default_factory=dict)
    sensors: Mapping[str, DeclaredSensor] = field(default_factory=dict)

    def of(self, sensor: DeclaredSensor, stream: str) -> Histogram:
        """Return the template of a declared sensor on one of its streams."""
        return self.by_name[sensor.streams[stream]]

    def name_for(self, sensor: str, stream: str) -> str | None:
        """Return the name of a sensor's template: the declared one, else its own name; None if there is neither.

        A declared sensor with one stream has its template on any stream that was not declared.
        """
        if sensor in self.sensors:
            streams = self.sensors[sensor].streams
            return next(iter(streams.values())) if len(streams) == 1 else streams.get(stream)
        return sensor if sensor in self.by_name else None


def load_templates(path: Path | None) -> FileTemplates:
    """Return the templates in `path`, if there is one.

    JSON is an object such as ``{"imb": {"uniform": [-0.05, 0.05]}}``. YAML, or JSON with `templates` and `sensors`, is
    what `coincide learn` writes and config/sensors.yaml holds.
    """
    if path is None:
        return FileTemplates()
    read = _parsed(path)
    if not isinstance(read, dict):
        example = '{"a": {"uniform": [-1, 1]}}'
        raise CommandError(f"{path}: an object of templates by name was expected, such as {example}")
    forms = read.get("templates", {}) if "sensors" in read else read
    if not isinstance(forms, dict):
        raise CommandError(f"{path}: templates is {shown(forms)}: templates by name were expected")
    by_name = {str(name): _template(f"{path}: template {str(name)!r}", form) for name, form in forms.items()}
    listed = read.get("sensors") or [] if "sensors" in read else []
    if not isinstance(listed, list):
        raise CommandError(f"{path}: sensors is {shown(listed)}: a list of sensors was expected")
    clocks = _clocks(path, read.get("clocks") or {} if "sensors" in read else {})
    sensors = [_sensor(path, each, by_name, clocks) for each in listed]
    return FileTemplates(by_name, {each.id: each for each in sensors})


def _parsed(path: Path) -> Any:
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _of_yaml(path, text) if is_yaml else json.loads(text, object_pairs_hook=partial(_named_once, path))
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path}: no {'YAML' if is_yaml else 'JSON'}: {error}") from None


def _of_yaml(path: Path, text: str) -> Any:
    import yaml  # noqa: PLC0415 - whoever has no such file need not wait for it

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CommandError(f"{path}: no YAML: {error}") from None


def _named_once(path: Path, fields: list[tuple[str, Any]]) -> dict[str, Any]:
    obj: dict[str, Any] = {}
    for name, value in fields:
        if name in obj:
            raise CommandError(f"{path}: {name!r} is there twice")
        obj[name] = value
    return obj


def _clocks(path: Path, forms: object) -> dict[str, Clock]:
    try:
        return clocks_of_forms(forms)
    except HistogramError as error:
        raise CommandError(f"{path}: {error.field} is {shown(error.value)}: {error.allowed}") from None


def _sensor(path: Path, declared: object, by_name: dict[str, Histogram], clocks: Mapping[str, Clock]) -> DeclaredSensor:
    """Return a sensor; its templates on a clock come to be `by_name` under their ids."""
    fields = declared if isinstance(declared, dict) else {}
    match fields.get("id"), fields.get("area", ""), fields.get("streams"):
        case str() as name, str() as area, dict() as streams if streams:
            where = f"{path}: sensor {name!r}"
            clock = _clock_of(where, fields.get("clock"), clocks)
            named = {str(stream): _named(where, form, by_name, clock) for stream, form in streams.items()}
            return DeclaredSensor(name, area, named)
    form = "{id: NAME, area: AREA, streams: {STREAM: TEMPLATE}}"
    raise CommandError(f"{path}: sensors has {shown(declared)}: {form} was expected")


def _clock_of(where: str, name: object, clocks: Mapping[str, Clock]) -> Clock | None:
    if name is None:
        return None
    if name not in clocks:
        raise CommandError(f"{where} names clock {shown(name)}, which is not there")
    return clocks[str(name)]


def _named(where: str, form: Any, by_name: dict[str, Histogram], clock: Clock | None) -> str:
    """Return the name of the template that a stream declares."""

    def read(name: object) -> Histogram:
        if not isinstance(name, str) or name not in by_name:
            raise CommandError(f"{where} names template {shown(name)}, which is not there")
        return by_name[name]

    try:
        template = template_beside(clock, form, read)
    except HistogramError as error:
        raise CommandError(f"{where}: {error.field} is {shown(error.value)}: {error.allowed}") from None
    if clock is None:
        return str(form)
    by_name[template.id] = template
    return template.id


def parse_template(text: str, templates: FileTemplates) -> Histogram:
    """Return the template that `text` means: a name in `templates`, or a short form."""
    if text in templates.by_name:
        return templates.by_name[text]
    kind, _, parameters = text.partition(":")
    where = f"uncertainty {text!r}"
    try:
        numbers = [float(number) for number in parameters.split(",")] if parameters else []
    except ValueError:
        raise CommandError(f"{where}: {SHORT_FORMS}") from None
    match kind, numbers:
        case "uniform", [_, _]:
            return _template(where, {"uniform": numbers})
        case "normal", [sigma_s]:
            return _template(where, {"normal": {"sigma_s": sigma_s}})
        case "normal", [sigma_s, buckets]:
            many = int(buckets) if buckets.is_integer() else buckets
            return _template(where, {"normal": {"sigma_s": sigma_s, "buckets": many}})
        case "point", []:
            return Histogram.point()
    raise CommandError(f"{where}: {SHORT_FORMS}")


def _template(where: str, form: object) -> Histogram:
    try:
        return template_of_form(form)
    except HistogramError as error:
        raise CommandError(f"{where}: {error.field} is {shown(error.value)}: {error.allowed}") from None
