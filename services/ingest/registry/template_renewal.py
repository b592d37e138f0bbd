"""What sensors follow: their templates, as the named templates and the clocks of which they are made are now."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from coincide import Histogram
from coincide.clocks import Clock, ClockedHistogram, learnt_whole
from coincide.errors import HistogramError
from coincide.wire.last_change import LastChange
from services.ingest.registry.named_templates import NamedTemplate
from services.ingest.registry.registered_clocks import RegisteredClock
from services.ingest.registry.sensors import CACHED_TEMPLATES, Sensor

T = TypeVar("T", Sensor, NamedTemplate, RegisteredClock)


def record_of(name: str, registered: T | None, change: LastChange) -> tuple[bytes, bytes | None]:
    """Return the key and the value of the record by which a change makes something what it is."""
    return name.encode(), None if registered is None else replace(registered, change=change).to_record()


def renewed_template(
    template: Histogram,
    name: str | None,
    templates: Mapping[str, NamedTemplate],
    clocks: Mapping[str, RegisteredClock],
) -> Histogram:
    """Return a sensor's template as what it names is now; a `HistogramError`: the clock's error does not add up.

    A whole that was learnt stays as it is.
    """
    named = templates.get(name) if name is not None else None
    if not isinstance(template, ClockedHistogram):
        return template if named is None else named.histogram
    clock = clocks.get(template.clock)
    own, error = named.histogram if named else template.own, clock.error if clock else template.error
    return template if (own, error) == (template.own, template.error) else _made_of(template, own, error)


@lru_cache(CACHED_TEMPLATES)
def _made_of(template: ClockedHistogram, own: Histogram, error: Histogram) -> ClockedHistogram:
    return Clock(template.clock, error).template(own, learnt_whole(template))


def renewed(sensor: Sensor, templates: Mapping[str, NamedTemplate], clocks: Mapping[str, RegisteredClock]) -> Sensor:
    """Return the sensor with its templates as what they name is now; one that could not be made stays."""
    streams = dict(sensor.streams)
    for stream, template in sensor.streams.items():
        try:
            streams[stream] = renewed_template(template, sensor.names.get(stream), templates, clocks)
        except HistogramError:  # two processes changed the clock and the template at once, to what does not add up
            continue
    return sensor if streams == sensor.streams else replace(sensor, streams=MappingProxyType(streams))
