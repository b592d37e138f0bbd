"""Places: many places of one kind in columns, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, sealed
from coincide.errors import PlaceError
from coincide.places.place import EarthPlace, FramePlace, Place

EARTH_RADIUS_M = 6_371_008.8  # mean
EQUATOR_M, FLATTENING = 6_378_137.0, 1 / 298.257223563  # WGS 84
ECCENTRICITY_2 = FLATTENING * (2 - FLATTENING)


@dataclass(frozen=True, eq=False)
class Places:
    """Places that are all on the Earth, or all in one frame.

    Make it with `Places.of`.

    Attributes
    ----------
    kind : type
        `EarthPlace` or `FramePlace`.
    coordinates : ndarray of float64, shape (n, 3), read-only
        Latitude, longitude and height, or the three axes.

    Examples
    --------
    >>> square = Places.of([FramePlace(0, 0), FramePlace(30, 0), FramePlace(30, 40)])
    >>> square.distance_m(0, [1, 2]).tolist()
    [30.0, 50.0]
    """

    kind: type[Place]
    coordinates: FloatArray

    @classmethod
    def of(cls, places: Sequence[Place]) -> Places:
        """Return places in columns; raise PlaceError if they are not of one kind."""
        listed = list(places)
        for nth, place in enumerate(listed):
            if not isinstance(place, EarthPlace | FramePlace):
                raise PlaceError(f"places[{nth}]", place, "an EarthPlace or a FramePlace")
            if type(place) is not type(listed[0]):
                raise PlaceError(f"places[{nth}]", place, f"of the kind of places[0], {listed[0]}: a frame is one kind")
        kind = type(listed[0]) if listed else FramePlace
        return cls(kind, sealed(np.array([each.coordinates for each in listed]).reshape(-1, 3)))

    def __len__(self) -> int:
        return len(self.coordinates)

    def __getitem__(self, position: int) -> Place:
        return self.kind(*self.coordinates[position].tolist())

    @property
    def is_on_earth(self) -> bool:
        """Whether they have latitudes and longitudes."""
        return self.kind is EarthPlace

    def distance_m(self, i: npt.ArrayLike, j: npt.ArrayLike, others: Places | None = None) -> Any:
        """Distance of the places at `i` from those at `j`, in metres; float64 in the shape of both, broadcast.

        In a frame it is the straight line. On the Earth it is the way along the surface and the difference in height,
        as the two sides of a right angle; see `surface_m`.

        Parameters
        ----------
        i, j : array_like of int
            Positions.
        others : Places, optional
            Where `j` counts; by default here.

        Raises
        ------
        PlaceError
            `others` are of another kind.
        """
        other = self if others is None else others
        if other.kind is not self.kind and len(other) and len(self):
            raise PlaceError("others", other.kind.__name__, f"of the kind {self.kind.__name__}")
        one, two = np.asarray(i, dtype=np.intp), np.asarray(j, dtype=np.intp)
        chord = np.sqrt(((self.points_m[one] - other.points_m[two]) ** 2).sum(axis=-1))
        if not self.is_on_earth:
            return chord
        return np.hypot(surface_m(chord), self.coordinates[one, 2] - other.coordinates[two, 2])

    @cached_property
    def points_m(self) -> FloatArray:
        """Cartesian points, shape (n, 3): of the frame; on the Earth those of the ellipsoid below the places."""
        if not self.is_on_earth:
            return self.coordinates
        return sealed(ellipsoid_points_m(self.coordinates[:, 0], self.coordinates[:, 1]))


def ellipsoid_points_m(lat: FloatArray, lon: FloatArray) -> FloatArray:
    """Return points of the ellipsoid, shape (n, 3): from the Earth's centre to (0, 0), to 90 degrees east, north."""
    north, east = np.radians(lat), np.radians(lon)
    across = EQUATOR_M / np.sqrt(1 - ECCENTRICITY_2 * np.sin(north) ** 2)
    parts = np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), (1 - ECCENTRICITY_2) * np.sin(north)
    points: FloatArray = across[:, None] * np.stack(parts, axis=1)
    return points


def surface_m(chord_m: FloatArray) -> FloatArray:
    """Return the way along the surface between points of the ellipsoid, from the straight line through the Earth.

    It is the arc over that chord on a sphere of the mean radius. So it loses no digits of what is near. It is off by at
    most 1.3e-5 of the distance up to 1,000 km, 1.3e-4 up to 3,000 km, and 5 % between opposite ends of the Earth. A
    speed is known less well.
    """
    arc: FloatArray = 2 * EARTH_RADIUS_M * np.arcsin(np.minimum(chord_m / (2 * EARTH_RADIUS_M), 1.0))
    return arc
