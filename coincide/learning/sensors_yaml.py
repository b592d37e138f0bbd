"""Learnt templates as YAML that config/sensors.yaml takes as it is, with comments of what stands behind each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from coincide.learning.calibration import Calibration, SensorStream
from coincide.templates.histogram import Histogram


def sensors_yaml(calibrations: Sequence[Calibration], area_of: Mapping[SensorStream, str]) -> str:
    """Return the templates that were learnt and the sensors that have them, with comments of what stands behind each.

    Names are written as JSON writes texts, which YAML reads too.
    """
    return "\n".join([*_templates(calibrations), *_sensors(calibrations, area_of)]) + "\n"


def _templates(calibrations: Sequence[Calibration]) -> Iterator[str]:
    learnt = [each for each in calibrations if each.learnt is not None]
    yield "templates:" if learnt else "templates: {}"
    for each in learnt:
        yield f"  # {_story(each)}"
        yield f"  {_text(_name(each.of))}: {_form(each)}"


def _story(each: Calibration) -> str:
    if each.learnt is None:
        return "no template"
    whose = {"own": "", "model": " of all sensors of its model", "stream": " of all sensors on its stream"}
    text = f"from {each.learnt.count} errors{whose[each.pool or 'own']}, {each.learnt.wrong_share:.1%} of them wrong"
    if each.held_out is None:
        return f"{text}; too few to hold any out"
    return f"{text}; held out: distance {each.held_out.fit.distance:.3f}, score {each.held_out.score:.2f}"


def _form(each: Calibration) -> str:
    template = each.learnt.template if each.learnt is not None else Histogram.point()
    edges_s = ", ".join(_number(edge, 6) for edge in template.edges_s.tolist())
    mass = ", ".join(_number(mass, 9) for mass in template.mass.tolist())
    return f"{{edges_s: [{edges_s}], mass: [{mass}]}}"


def _number(value: float, digits: int) -> str:
    """Return the number without an exponent, which YAML 1.1 takes for text if no point stands before it."""
    whole, _, rest = f"{round(value, digits) + 0.0:.{digits}f}".partition(".")
    return f"{whole}.{rest.rstrip('0') or '0'}"


def _sensors(calibrations: Sequence[Calibration], area_of: Mapping[SensorStream, str]) -> Iterator[str]:
    by_sensor: dict[str, list[SensorStream]] = {}
    for each in calibrations:
        if each.learnt is not None:
            by_sensor.setdefault(each.of.sensor, []).append(each.of)
        else:
            yield f"# no template for {_text(each.of.sensor)} on {_text(each.of.stream)}: too few errors"
    yield "sensors:" if by_sensor else "sensors: []"
    for sensor, streams in by_sensor.items():
        named = ", ".join(f"{_text(of.stream)}: {_text(_name(of))}" for of in streams)
        area = _text(area_of[streams[0]])
        yield f"  - {{id: {_text(sensor)}, area: {area}, streams: {{{named}}}}}"


def _name(of: SensorStream) -> str:
    return f"{of.sensor} {of.stream}"


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
