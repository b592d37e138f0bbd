"""ActiveReadings: a query over readings that is in force."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.readings_query import ReadingsQuery


@dataclass
class ActiveReadings:
    """A query over readings in force.

    Attributes
    ----------
    activation_seq : int
        Readings count from this sequence number on.
    episodes : int
        How many answers it has given, in all its versions.
    """

    query: ReadingsQuery
    version: int
    paused: bool
    activation_seq: int
    episodes: int = 0
