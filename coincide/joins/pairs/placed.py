"""PlacedDetections: a batch of detections, each with the place where its sensor was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import IndexArray
from coincide.arrays.numbers import whole_numbers
from coincide.errors import DetectionsError
from coincide.joins.detections import Detections, checked_batch
from coincide.places.place import Place
from coincide.places.place_columns import Places


class PlacedDetections:
    """Detections, and where the sensor of each was when it reported.

    Parameters
    ----------
    detections : Detections
    places : Places
        The places that the rows refer to, of one kind.
    place_index : array_like of int, shape (n,)
        Position in `places` of each row's place; a sensor that moves has a new one with each row.

    Raises
    ------
    DetectionsError

    Examples
    --------
    >>> from coincide import Histogram
    >>> from coincide.places import FramePlace
    >>> heard = Detections([0, 9_000], [Histogram.point()], sensor=["mic-1", "mic-2"])
    >>> hall = {"mic-1": FramePlace(0, 0), "mic-2": FramePlace(3, 4)}
    >>> PlacedDetections.by_sensor(heard, hall).place_index.tolist()
    [0, 1]
    """

    detections: Detections
    places: Places
    place_index: IndexArray

    def __init__(self, detections: Detections, places: Places, place_index: npt.ArrayLike) -> None:
        self.detections = checked_batch("detections", detections)
        self.places = places
        self.place_index = whole_numbers("place_index", place_index, (len(detections),), DetectionsError)
        beyond = self.place_index[(self.place_index < 0) | (self.place_index >= len(places))]
        if len(beyond):
            raise DetectionsError("place_index", int(beyond[0]), f"a position among {len(places)} places, from 0 on")

    @classmethod
    def by_sensor(cls, detections: Detections, places: Mapping[Any, Place]) -> PlacedDetections:
        """Give each row the place of its sensor; raise DetectionsError for a sensor that has none."""
        column = checked_batch("detections", detections).sensor
        if column is None:
            raise DetectionsError("sensor", None, "a sensor for each row, whose place is known")
        sensors, index = np.unique(column, return_inverse=True)
        absent = [sensor for sensor in sensors.tolist() if sensor not in places]
        if absent:
            raise DetectionsError("sensor", absent[0], "a sensor with a place; none is guessed")
        return cls(detections, Places.of([places[sensor] for sensor in sensors.tolist()]), index)

    def __len__(self) -> int:
        return len(self.detections)
