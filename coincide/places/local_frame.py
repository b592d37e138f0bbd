"""LocalFrame: the surroundings of some places in straight metres, there and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.errors import PlaceError
from coincide.places.place import EarthPlace, FramePlace, Place
from coincide.places.place_columns import ECCENTRICITY_2, EQUATOR_M, Places, ellipsoid_points_m, surface_m

FURTHEST_M = 300_000.0  # from the middle: there the Earth's curve is 4e-4 of a distance
MOST_ROUNDS, SETTLED_M = 60, 1e-6  # few are needed, but for places near a pole


@dataclass(frozen=True, eq=False)
class LocalFrame:
    """Metres east, north and up from the middle of some places; of places in a frame it is their own.

    On the Earth distance and direction from the middle are right. Between others a distance is off by at most a sixth
    of (their distance from the middle / 6371 km) squared: 4e-5 at 100 km, 4e-4 at 300 km, which is the furthest.
    """

    kind: type[Place]
    lat: float = 0.0
    lon: float = 0.0

    @classmethod
    def around(cls, places: Places) -> LocalFrame:
        """Return the frame whose middle is that of the places; raise PlaceError if they are too far apart."""
        if not places.is_on_earth:
            return cls(FramePlace)
        x, y, z = places.points_m.mean(axis=0).tolist()
        lat = np.degrees(np.arctan2(z, (1 - ECCENTRICITY_2) * np.hypot(x, y)))
        frame = cls(EarthPlace, float(lat), float(np.degrees(np.arctan2(y, x))))
        furthest_m = float(np.hypot(*frame.metres(places)[:, :2].T).max())
        if not furthest_m <= FURTHEST_M:
            allowed = f"at most {FURTHEST_M / 1000:.0f} km from their middle: further on the Earth is no plane"
            raise PlaceError("places", f"{furthest_m / 1000:.0f} km", allowed)
        return frame

    def metres(self, places: Places) -> FloatArray:
        """Return places in this frame, shape (n, 3)."""
        if self.kind is FramePlace:
            return places.coordinates
        lat, lon, height_m = places.coordinates.T
        return np.column_stack((self._flat(lat, lon), height_m))

    def place(self, east_m: float, north_m: float, up_m: float) -> Place:
        """Return the place that is there."""
        if self.kind is FramePlace:
            return FramePlace(east_m, north_m, up_m)
        wanted = np.array([east_m, north_m])
        sin = np.sin(np.radians(self.lat))
        across_m = EQUATOR_M / np.sqrt(1 - ECCENTRICITY_2 * sin**2)
        along_m = across_m * (1 - ECCENTRICITY_2) / (1 - ECCENTRICITY_2 * sin**2)
        a_degree_m = np.radians(np.array([across_m * np.cos(np.radians(self.lat)), along_m]))
        east, north = wanted / a_degree_m
        for _ in range(MOST_ROUNDS):
            left_m = wanted - self._flat(np.array([self.lat + north]), np.array([self.lon + east]))[0]
            east, north = np.array([east, north]) + left_m / a_degree_m
            if np.abs(left_m).max() < SETTLED_M:
                break
        return EarthPlace(float(self.lat + north), float((self.lon + east + 180) % 360 - 180), up_m)

    def _flat(self, lat: FloatArray, lon: FloatArray) -> FloatArray:
        """Return metres east and north: the direction in the plane of the middle, and the way along the surface."""
        middle = ellipsoid_points_m(np.array([self.lat]), np.array([self.lon]))
        away = ellipsoid_points_m(lat, lon) - middle
        north, east = np.radians(self.lat), np.radians(self.lon)
        to_east = np.array([-np.sin(east), np.cos(east), 0.0])
        to_north = np.array([-np.sin(north) * np.cos(east), -np.sin(north) * np.sin(east), np.cos(north)])
        plane = np.stack((away @ to_east, away @ to_north), axis=1)
        level_m = np.hypot(*plane.T)
        way_m = surface_m(np.sqrt((away**2).sum(axis=1)))
        flat: FloatArray = plane * np.divide(way_m, level_m, out=np.ones_like(way_m), where=level_m > 0)[:, None]
        return flat
