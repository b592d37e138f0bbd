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
    matches, episodes : int
        How many it has given, in all its versions; of matches none.
    """

    query: ReadingsQuery
    version: int
    paused: bool
    activation_seq: int
    matches: int = 0
    episodes: int = 0
