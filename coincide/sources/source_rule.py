"""SourceRule: how what a source makes travels, and where sources may be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.arrays.numbers import is_number
from coincide.errors import PlaceError, WindowError
from coincide.places.travel_times import TravelTimes

LEAST_SLACK_S, MOST_SLACK_S = 1e-6, 1e6
MOST_M = 1e7


@dataclass(frozen=True)
class SourceRule:
    """What counts as one source.

    Parameters
    ----------
    travel : TravelTimes or float
        Travel times by distance; a number is a speed in metres a second.
    slack_s : float
        How far the times of two members may differ beyond what the source's place says and their templates allow:
        echoes, wind, ground; 1e-6 to 1e6 seconds.
    height_m : float or (float, float)
        Where sources are: at one height, in the plane; or between two. Below 0: a depth.
    margin_m : float, optional
        How far beyond the members, on each side, sources may be; by default as far as the members are apart.
    reach_m : float, optional
        In place of a margin: how far from each member, along each axis of the plane, a source may be. Then more members
        leave less room, and what explains a set explains each part of it.

    Raises
    ------
    PlaceError, WindowError

    Examples
    --------
    >>> SourceRule(343, slack_s=0.02).dimensions
    2
    >>> SourceRule(6000, slack_s=0.3, height_m=(-15_000, 0), margin_m=20_000).least_members
    4
    """

    travel: TravelTimes
    slack_s: float
    height_m: tuple[float, float] = (0.0, 0.0)
    margin_m: float | None = None
    reach_m: float | None = None

    def __init__(
        self,
        travel: TravelTimes | float,
        slack_s: float,
        height_m: float | tuple[float, float] = 0.0,
        margin_m: float | None = None,
        reach_m: float | None = None,
    ) -> None:
        if not is_number(slack_s) or not LEAST_SLACK_S <= slack_s <= MOST_SLACK_S:
            raise WindowError("slack_s", slack_s, f"seconds from {LEAST_SLACK_S:g} to {MOST_SLACK_S:g}")
        for name, far_m in (("margin_m", margin_m), ("reach_m", reach_m)):
            if far_m is not None and (not is_number(far_m) or not 0 < far_m <= MOST_M):
                raise PlaceError(name, far_m, f"metres above 0, to {MOST_M:g}")
        if margin_m is not None and reach_m is not None:
            raise PlaceError("reach_m", reach_m, "left out where there is a margin_m")
        object.__setattr__(self, "travel", travel if isinstance(travel, TravelTimes) else TravelTimes.at_speed(travel))
        object.__setattr__(self, "slack_s", float(slack_s))
        object.__setattr__(self, "height_m", _checked_heights(height_m))
        object.__setattr__(self, "margin_m", margin_m)
        object.__setattr__(self, "reach_m", reach_m)

    @property
    def dimensions(self) -> int:
        """2 in the plane, 3 with a height to find."""
        return 2 if self.height_m[0] == self.height_m[1] else 3

    @property
    def least_members(self) -> int:
        """So many members determine a place: one more than it has dimensions, for the time is not known either."""
        return self.dimensions + 1

    def box_m(self, members_m: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """Return the middle and half the size of where a source of these members may be, each of shape (3,).

        None: no place is in reach of all of them.
        """
        least, most = members_m.min(axis=0), members_m.max(axis=0)
        apart_m = float(np.hypot(*(most - least)[:2]))
        margin_m = max(apart_m, 1.0) if self.margin_m is None else self.margin_m
        if self.reach_m is None:
            least, most = least - margin_m, most + margin_m
        else:
            least, most = most - self.reach_m, least + self.reach_m
        least[2], most[2] = self.height_m
        return None if (least > most).any() else ((least + most) / 2, (most - least) / 2)


def _checked_heights(height_m: object) -> tuple[float, float]:
    pair = height_m if isinstance(height_m, tuple | list) else (height_m, height_m)
    if len(pair) != 2 or not all(is_number(each) and abs(each) <= MOST_M for each in pair) or pair[0] > pair[1]:
        raise PlaceError("height_m", height_m, "metres, or the least and the greatest")
    return float(pair[0]), float(pair[1])
