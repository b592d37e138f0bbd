"""Known sensors: who may play the roles of a query, with which template, and how often they report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from coincide.arrays.kinds import FloatArray, IndexArray, Int64Array
from coincide.arrays.numbers import is_number
from coincide.errors import RateError
from coincide.places.place import Place
from coincide.queries.joins.role_filter import Source
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_template


@dataclass(frozen=True, slots=True)
class KnownSensor:
    """A sensor that reports a stream: where it stands, its template, and how often it reports.

    Parameters
    ----------
    sensor : str, optional
        None is a sensor of its own.
    area, stream : str
    template : Histogram
        Of a sensor with several templates there is one KnownSensor for each.
    rate_hz : float
        Detections a second, at least 0.
    place : EarthPlace or FramePlace, optional
        Where it stands, if that is known.
    """

    sensor: str | None
    area: str
    stream: str
    template: Histogram
    rate_hz: float = 0.0
    place: Place | None = None

    def __post_init__(self) -> None:
        checked_template("template", self.template)
        if not is_number(self.rate_hz) or not self.rate_hz >= 0:
            raise RateError("rate_hz", self.rate_hz, "a finite number of detections per second, at least 0")


@dataclass(frozen=True)
class SeenRates:
    """Detections a second as they were seen, not by sensor.

    Parameters
    ----------
    by_area : mapping of str to mapping of str to float
        By area and stream. The sensors of a stream in an area share its rate evenly.
    elsewhere_hz : mapping of str to float, optional
        By stream, in all other areas together: their sensors share it evenly.
    """

    by_area: Mapping[str, Mapping[str, float]]
    elsewhere_hz: Mapping[str, float] = field(default_factory=dict)

    def shared(self, sensors: Sequence[KnownSensor]) -> list[KnownSensor]:
        """Return the sensors with their shares of the rates."""

        def place(each: KnownSensor) -> tuple[str | None, str]:
            return (each.area if each.area in self.by_area else None), each.stream

        sharers = Counter(map(place, sensors))
        rates_hz = {
            (area, stream): (self.elsewhere_hz if area is None else self.by_area[area]).get(stream, 0.0) / many
            for (area, stream), many in sharers.items()
        }
        return [replace(each, rate_hz=rates_hz[place(each)]) for each in sensors]

    def busiest_hz(self) -> dict[str, float]:
        """Return the rate of each stream in the area where it is greatest."""
        busiest: dict[str, float] = {}
        for rates_hz in self.by_area.values():
            for stream, rate_hz in rates_hz.items():
                busiest[stream] = max(rate_hz, busiest.get(stream, 0.0))
        return busiest


def players_of(source: Source, sensors: Sequence[KnownSensor]) -> list[KnownSensor]:
    """Return the sensors that may play a role, as far as streams and names go."""
    return [
        each for each in sensors if each.stream == source.stream and source.admits_names(each.sensor or "", each.area)
    ]


class SensorNumbers:
    """Numbers for areas, sensors and templates; those of sensors without a name are below 0, each time another."""

    def __init__(self) -> None:
        self.areas: dict[str, int] = {}
        self.names: dict[str, int] = {}
        self.templates: dict[Histogram, int] = {}
        self._nameless = count(-1, -1)

    def of(self, known: KnownSensor) -> tuple[int, int, int]:
        """Return the numbers of a sensor's area, of itself and of its template."""
        return (
            self.areas.setdefault(known.area, len(self.areas)),
            next(self._nameless) if known.sensor is None else self.names.setdefault(known.sensor, len(self.names)),
            self.templates.setdefault(known.template, len(self.templates)),
        )


@dataclass(frozen=True, eq=False)
class Players:
    """The sensors of one role in columns: numbers of area, sensor and template, and rates, each of shape (n,).

    A sensor with a number below 0 differs from every other, and from itself in another role.
    """

    area: Int64Array
    sensor: Int64Array
    template: Int64Array
    rate_hz: FloatArray

    @classmethod
    def of(cls, sensors: Sequence[KnownSensor], numbers: SensorNumbers) -> Players:
        """Return the sensors in numbers."""
        columns = np.array([numbers.of(each) for each in sensors], dtype=np.int64).reshape(-1, 3)
        area, sensor, template = columns.T
        return cls(area, sensor, template, np.array([each.rate_hz for each in sensors], dtype=np.float64))

    def __len__(self) -> int:
        return len(self.area)

    def take(self, rows: IndexArray) -> Players:
        """Return some of them."""
        return Players(self.area[rows], self.sensor[rows], self.template[rows], self.rate_hz[rows])
