"""TravelTimes: how long sound or a wave takes, by distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, sealed
from coincide.arrays.numbers import is_number, real_numbers
from coincide.errors import PlaceError

SLOWEST_M_S, FASTEST_M_S = 0.001, 3e8  # a glacier, light
MOST_ROWS = 10_000
FURTHEST_M = 2.1e7  # half-way around the Earth, and more
ROUNDING_S, ROUNDING_SHARE = 0.002, 0.01  # of a table: so much the least concave one above it may differ


@dataclass(frozen=True, init=False, eq=False)
class TravelTimes:
    """Travel time by distance: straight lines between the rows of a table, the last going on.

    The first to arrive never loses speed as it goes further, so the table is concave. One that is not, by rounding of
    2 ms and 1 %, is raised to the least concave one above it: nothing arrives later than it says.

    Parameters
    ----------
    distance_m : array_like of float, shape (k,)
        From 0 on, growing; 2 to 10,000 rows.
    time_s : array_like of float, shape (k,)
        From 0 on, growing, at 1 mm/s to the speed of light.

    Raises
    ------
    PlaceError

    Examples
    --------
    >>> layers = TravelTimes([0, 20_000, 100_000], [0, 4, 16])  # 5 km/s, then 6.7 km/s
    >>> layers.time_s([10_000, 60_000, 140_000]).tolist()
    [2.0, 10.0, 22.0]
    """

    distance_m: FloatArray
    at_s: FloatArray

    def __init__(self, distance_m: npt.ArrayLike, time_s: npt.ArrayLike) -> None:
        distance = real_numbers("distance_m", distance_m, "numbers of metres", PlaceError)
        time = real_numbers("time_s", time_s, "numbers of seconds", PlaceError)
        if distance.ndim != 1 or not 2 <= len(distance) <= MOST_ROWS:
            raise PlaceError("distance_m", f"of shape {distance.shape}", f"2 to {MOST_ROWS:,} distances")
        if time.shape != distance.shape:
            raise PlaceError("time_s", f"of shape {time.shape}", f"a time for each of {len(distance)} distances")
        for field, column in (("distance_m", distance), ("time_s", time)):
            if column[0] != 0 or not (np.diff(column) > 0).all() or not column[-1] <= 1e12:
                raise PlaceError(field, column.tolist(), "0, then each greater than the one before")
        raised = _concave(distance, time)
        if (raised - time > ROUNDING_S + ROUNDING_SHARE * time).any():
            at = int(np.argmax(raised - time))
            raise PlaceError(f"time_s[{at}]", float(time[at]), "no speed that falls with distance")
        speeds = np.diff(distance) / np.diff(raised)
        if not (speeds.min() >= SLOWEST_M_S and speeds.max() <= FASTEST_M_S):
            beyond = float(speeds.min() if speeds.min() < SLOWEST_M_S else speeds.max())
            raise PlaceError("time_s", beyond, f"speeds from {SLOWEST_M_S:g} to {FASTEST_M_S:g} metres a second")
        object.__setattr__(self, "distance_m", sealed(distance.copy()))
        object.__setattr__(self, "at_s", sealed(raised))

    @classmethod
    def at_speed(cls, speed_m_s: float) -> TravelTimes:
        """Return the travel times at one speed.

        Examples
        --------
        >>> float(TravelTimes.at_speed(343).time_s(1029))
        3.0
        """
        if not is_number(speed_m_s) or not SLOWEST_M_S <= speed_m_s <= FASTEST_M_S:
            allowed = f"metres a second, from {SLOWEST_M_S:g} to {FASTEST_M_S:g}; sound in air makes 343, a P wave 6000"
            raise PlaceError("speed_m_s", speed_m_s, allowed)
        return cls([0.0, float(speed_m_s)], [0.0, 1.0])

    def time_s(self, distance_m: npt.ArrayLike) -> FloatArray:
        """Return the travel time over each distance, in seconds; float64 in their shape."""
        distance = np.asarray(distance_m, dtype=np.float64)
        if len(self.at_s) == 2:
            at_one_speed: FloatArray = distance * self.at_s[1] / self.distance_m[1]
            return at_one_speed
        last = self.at_s[-1] + (distance - self.distance_m[-1]) * self.slowness_s_m[-1]
        return np.where(distance > self.distance_m[-1], last, np.interp(distance, self.distance_m, self.at_s))

    def slowness_at_s_m(self, distance_m: FloatArray) -> FloatArray:
        """Return how much longer each further metre takes at a distance."""
        if len(self.slowness_s_m) == 1:
            return np.full(np.shape(distance_m), self.slowness_s_m[0])
        row = np.searchsorted(self.distance_m, distance_m, side="right") - 1
        slowness: FloatArray = self.slowness_s_m[np.clip(row, 0, len(self.slowness_s_m) - 1)]
        return slowness

    @cached_property
    def slowness_s_m(self) -> FloatArray:
        """Seconds a metre between rows; it never grows."""
        return np.diff(self.at_s) / np.diff(self.distance_m)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TravelTimes):
            return NotImplemented
        return np.array_equal(self.distance_m, other.distance_m) and np.array_equal(self.at_s, other.at_s)

    def __hash__(self) -> int:
        return hash((self.distance_m.tobytes(), self.at_s.tobytes()))


def _concave(distance: FloatArray, time: FloatArray) -> FloatArray:
    """Return the least concave table that is nowhere below."""
    kept: list[int] = []
    d, t = distance.tolist(), time.tolist()
    for nth in range(len(d)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (t[b] - t[a]) * (d[nth] - d[a]) >= (t[nth] - t[a]) * (d[b] - d[a]):
                break
            kept.pop()
        kept.append(nth)
    return np.interp(distance, distance[kept], time[kept])
