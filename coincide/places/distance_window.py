"""DistanceWindow: a window for each two sensors, as long as what they hear takes from one to the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import Int64Array
from coincide.arrays.numbers import is_number
from coincide.constraints.window import LONGEST_WINDOW_S, Window
from coincide.errors import PlaceError, WindowError
from coincide.places.travel_times import FURTHEST_M, TravelTimes

MILLISECOND_S = 1e-3
ROUNDING_MS = 1e-6  # a distance that takes a whole number of milliseconds but for rounding is not given one more
MOST_SLACK_S = 1e6
TOO_FAR_MS = -1
"""Half the width of no window at all."""


@dataclass(frozen=True)
class DistanceWindow:
    """``|Xb - Xa| <= travel time between the two sensors + slack``, rounded up to a millisecond.

    That is all that one source can make of them, wherever it is: the difference of the ways to both is at most the way
    between them. Two roles on one sensor have the slack alone.

    Parameters
    ----------
    travel : TravelTimes or float
        Travel times by distance; a number is a speed in metres a second.
    slack_s : float
        What else they may differ, such as by echoes, wind or a bad speed; 0 to 1e6 seconds.
    up_to_m : float, optional
        Sensors further apart than so many metres never hear one thing. None: however far they are apart.

    Raises
    ------
    PlaceError, WindowError

    Examples
    --------
    >>> sound = DistanceWindow(343, slack_s=0.2)
    >>> sound.half_width_ms([0, 343, 1000]).tolist()
    [200, 1200, 3116]
    >>> sound.window(343)
    Window(lo_s=-1.2, hi_s=1.2)
    """

    travel: TravelTimes
    slack_s: float
    up_to_m: float | None

    def __init__(self, travel: TravelTimes | float, slack_s: float = 0.0, up_to_m: float | None = None) -> None:
        if not is_number(slack_s) or not 0 <= slack_s <= MOST_SLACK_S:
            raise WindowError("slack_s", slack_s, f"a number of seconds from 0 to {MOST_SLACK_S:.0f}")
        times = travel if isinstance(travel, TravelTimes) else TravelTimes.at_speed(travel)
        object.__setattr__(self, "travel", times)
        object.__setattr__(self, "slack_s", float(slack_s))
        if up_to_m is not None and (not is_number(up_to_m) or not 0 <= up_to_m <= FURTHEST_M):
            raise PlaceError("up_to_m", up_to_m, f"metres, from 0 to {FURTHEST_M:g}")
        object.__setattr__(self, "up_to_m", None if up_to_m is None else float(up_to_m))
        if up_to_m is not None and self.travel.time_s(up_to_m) + self.slack_s > MOST_SLACK_S:
            raise WindowError("up_to_m", up_to_m, f"so near that the window is at most {MOST_SLACK_S:.0f} s")

    @property
    def widest(self) -> Window:
        """The window of sensors `up_to_m` apart; WindowError if there is no such bound."""
        if self.up_to_m is None:
            raise WindowError("up_to_m", None, "a number of metres where the widest window must be known")
        return self.window(self.up_to_m)

    def half_width_ms(self, distance_m: npt.ArrayLike) -> Any:
        """Half of the window at each distance in whole milliseconds; int64 in their shape.

        It is -1 beyond `up_to_m`, and for places between which there is no distance, which is infinite then.
        """
        distance = np.asarray(distance_m, dtype=np.float64)
        if self.up_to_m is None:
            return self._rounded_up(_checked_distances(distance_m))
        is_near = distance <= self.up_to_m
        return np.where(is_near, self._rounded_up(_checked_distances(np.where(is_near, distance, 0.0))), TOO_FAR_MS)

    def _rounded_up(self, distance_m: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        width_s = self.travel.time_s(distance_m) + self.slack_s
        if width_s.size and width_s.max() > LONGEST_WINDOW_S:
            raise WindowError("distance_m", float(np.max(distance_m)), f"a window of at most {LONGEST_WINDOW_S:g} s")
        return np.ceil(width_s / MILLISECOND_S - ROUNDING_MS).astype(np.int64)

    def window(self, distance_m: float) -> Window:
        """Return the window of two sensors so far apart."""
        return window_of_ms(int(self.half_width_ms(distance_m)))


def window_of_ms(half_width_ms: int) -> Window:
    """Return the window of so many milliseconds either way."""
    return Window(half_width_ms / 1000)


def half_width_s(half_width_ms: Int64Array) -> npt.NDArray[np.float64]:
    """Return half widths in seconds, as the floats that a `Window` of each would have."""
    return half_width_ms / 1000


def _checked_distances(distance_m: npt.ArrayLike) -> npt.NDArray[np.float64]:
    distance = np.asarray(distance_m, dtype=np.float64)
    if not ((distance >= 0) & (distance < np.inf)).all():
        raise PlaceError("distance_m", distance_m, "numbers of metres, at least 0")
    return distance
