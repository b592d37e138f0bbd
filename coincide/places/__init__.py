"""Places: where sensors stand, how far apart, and how long what they hear takes from one to the other.

A place is on the Earth or in a local frame. `DistanceWindow` makes the window of two sensors from their distance.
"""

from __future__ import annotations

from coincide.places.distance_window import DistanceWindow
from coincide.places.place import EarthPlace, FramePlace
from coincide.places.place_columns import Places
from coincide.places.place_forms import form_of_place, place_of_form
from coincide.places.travel_times import TravelTimes

__all__ = [
    "DistanceWindow",
    "EarthPlace",
    "FramePlace",
    "Places",
    "TravelTimes",
    "form_of_place",
    "place_of_form",
]
