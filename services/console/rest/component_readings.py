"""What one component tells of itself at one time: whether it is ready, and its metrics; and what changed in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

MOST_SAMPLES = 20_000
PREFIX = "coincide_"
Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Samples:
    """The samples of `/metrics`: by name, values by labels; and the names of all counters.

    A counter with labels has no sample before it counts for the first time: it is 0 then, and not unknown.
    """

    values: Mapping[str, Mapping[Labels, float]] = field(default_factory=dict)
    counters: frozenset[str] = frozenset()

    @classmethod
    def of_text(cls, text: str, wanted: frozenset[str]) -> Samples:
        """Read the samples with the `wanted` names, at most `MOST_SAMPLES`; a `ValueError` where it is no such text."""
        lines = text.splitlines()
        kept = list(islice((line for line in lines if _name_in(line) in wanted), MOST_SAMPLES))
        types = (line.split() for line in lines if line.startswith("# TYPE "))
        counters = frozenset(each[2] for each in types if each[3:] == ["counter"])
        values: dict[str, dict[Labels, float]] = {}
        for family in text_string_to_metric_families("\n".join(kept) + "\n"):
            for sample in family.samples:
                values.setdefault(sample.name, {})[frozenset(sample.labels.items())] = float(sample.value)
        return cls(values, counters)

    def total(self, name: str, **labels: str) -> float | None:
        """Return the sum of the samples that have these labels; None where nobody told any."""
        wanted = set(labels.items())
        found = [value for of, value in self.values.get(name, {}).items() if wanted <= of]
        return sum(found) if found else 0.0 if name in self.counters else None

    def by(self, name: str, label: str) -> dict[str, float]:
        """Return the samples of a name by one of its labels."""
        summed: dict[str, float] = {}
        for of, value in self.values.get(name, {}).items():
            key = dict(of).get(label, "")
            summed[key] = summed.get(key, 0.0) + value
        return summed


def _name_in(line: str) -> str:
    return line.partition("{")[0].partition(" ")[0]


@dataclass(frozen=True)
class ComponentReading:
    """One look at a component, at `at_s` of a clock that never jumps.

    `is_ready` is what it says itself; False also where it did not say. `why_away` says why nobody answered,
    `why_not_ready` what it says is missing, and `why_untold` why there are no metrics.
    """

    at_s: float
    is_ready: bool = False
    why_away: str | None = None
    why_not_ready: str | None = None
    samples: Samples | None = None
    why_untold: str | None = None


class Increase(NamedTuple):
    """By how much a counter grew in how many seconds."""

    by: float
    span_s: float

    @property
    def rate_hz(self) -> float:
        """How fast."""
        return self.by / self.span_s


@dataclass(frozen=True)
class ComponentTrend:
    """The last looks at one component, the newest last; empty before the first."""

    readings: Sequence[ComponentReading] = ()

    @property
    def newest(self) -> ComponentReading | None:
        """The last look."""
        return self.readings[-1] if self.readings else None

    def total(self, name: str, **labels: str) -> float | None:
        """Return the newest value of a metric; None where it is not known now."""
        samples = self.newest.samples if self.newest else None
        return samples.total(name, **labels) if samples else None

    def increase(self, name: str, within_s: float, **labels: str) -> Increase | None:
        """Return how a counter grew within the last `within_s` seconds; None where that is not known.

        A counter that falls begins anew: the component was restarted, and nobody knows what the old one counted last.
        """
        points = self._points(name, within_s, labels)
        for at, (_, value) in enumerate(points[1:], 1):
            if value > points[at - 1][1]:
                points = points[:at]
                break
        if len(points) < 2:
            return None
        (newest_s, newest), (oldest_s, oldest) = points[0], points[-1]
        return Increase(newest - oldest, newest_s - oldest_s) if newest_s > oldest_s else None

    def before(self, name: str, within_s: float, **labels: str) -> tuple[float, float] | None:
        """Return how many seconds ago the oldest value known within `within_s` was read, and that value."""
        points = self._points(name, within_s, labels)
        return (points[0][0] - points[-1][0], points[-1][1]) if len(points) > 1 else None

    def _points(self, name: str, within_s: float, labels: Mapping[str, str]) -> list[tuple[float, float]]:
        """Return the values without a gap, the newest first."""
        points: list[tuple[float, float]] = []
        for reading in reversed(self.readings):
            value = reading.samples.total(name, **labels) if reading.samples else None
            if value is None or self.readings[-1].at_s - reading.at_s > within_s:
                break
            points.append((reading.at_s, value))
        return points
