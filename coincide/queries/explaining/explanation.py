"""Figures that explain a query: what its edges can attain, and what chance gives."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from coincide.queries.explaining.expected_work import ExpectedWork


@dataclass(frozen=True)
class RoleFigures:
    """Who may play a role: sensors and areas, by stream and names, and as far as it is known by attributes.

    `conditions` names the attributes that the role's filter tests, and `passing` is the share of detections that pass;
    None where that is not known. `reporting` counts all sensors of the stream, whatever the filter says.
    """

    role: str
    stream: str
    reporting: int
    sensors: int
    areas: int
    conditions: tuple[str, ...]
    passing: float | None


@dataclass(frozen=True)
class BestPair:
    """Two sensors that attain the most, and the offset of their reports at which they do."""

    sensors: tuple[str | None, str | None]
    area: str
    offset_s: float


@dataclass(frozen=True)
class EdgeFigures:
    """What the sensors of two roles can attain.

    Attributes
    ----------
    between : tuple of two str
    lo_s, hi_s : float
        The window.
    threshold : float
        The edge's own, or the joint one where that is higher: no edge may be less probable.
    sensor_pairs, reaching : int
        Pairs of sensors of one area that may play the roles, and how many of them can reach the threshold. In a sample
        those that were looked at.
    share : float, optional
        The share of those that can reach it; None without a pair, as are the next three.
    least, greatest : float, optional
        The least and the greatest of what the pairs attain.
    best : BestPair, optional
        One that attains the greatest.
    is_sample : bool
        There are too many pairs to look at them all: some stand for the others.
    """

    between: tuple[str, str]
    lo_s: float
    hi_s: float
    threshold: float
    sensor_pairs: int
    reaching: int
    share: float | None
    least: float | None
    greatest: float | None
    best: BestPair | None
    is_sample: bool

    @property
    def is_out_of_reach(self) -> bool:
        """Whether every pair was looked at and none reaches the threshold."""
        return self.sensor_pairs > 0 and self.reaching == 0 and not self.is_sample


@dataclass(frozen=True)
class JointFigures:
    """Bounds of the most that the probability of all windows at once can be; `at_least` None if not known."""

    threshold: float | None
    at_most: float
    at_least: float | None


@dataclass(frozen=True)
class ChanceFigures:
    """Matches an hour in all areas of detections that have nothing to do with each other, and its standard error.

    With `is_upper_bound` there are fewer. `left_out` says what is not counted that would leave fewer.
    """

    per_hour: float
    error_per_hour: float
    is_upper_bound: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class DistanceFigures:
    """Windows by distance between the sensors that are known.

    Attributes
    ----------
    least_s, greatest_s : float or None
        Half of the shortest and of the longest window of two sensors of one area; None if no two have one.
    sensors, without_place : int
        Sensors of the query's streams, and how many of them have no place. One counts once for each stream.
    """

    least_s: float | None
    greatest_s: float | None
    sensors: int
    without_place: int


@dataclass(frozen=True)
class Explanation:
    """What a query can find and what it costs, with the sensors and rates given.

    `is_reachable` says whether some sensors can reach every threshold: False where none can for certain, None where
    that is open. `chance` and `work` are None where rates are not known. Where windows follow distances, figures are
    those of the longest, and `distance` says how long they are.
    """

    query: str
    roles: tuple[RoleFigures, ...]
    edges: tuple[EdgeFigures, ...]
    joint: JointFigures | None
    is_reachable: bool | None
    chance: ChanceFigures | None
    work: ExpectedWork | None
    distance: DistanceFigures | None = None

    @property
    def lacks_places(self) -> bool:
        """Whether windows follow distances, and no sensor has a place."""
        return self.distance is not None and 0 < self.distance.sensors == self.distance.without_place

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON."""
        return asdict(self)
