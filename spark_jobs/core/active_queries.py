"""Queries in force, of both kinds: joins and queries over readings."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.queries import Query, ReadingsQuery


@dataclass
class QueryInForce:
    """A query in the version that is in force.

    Attributes
    ----------
    activation_seq : int
        Detections count from this sequence number on. It is set when the query is created, and when its roles,
        streams, window or sensors change; a change of threshold or a pause keeps it.
    matches, episodes : int
        How many matches and records of episodes it has given, in all its versions.
    """

    query: Query | ReadingsQuery
    version: int
    paused: bool
    activation_seq: int
    matches: int = 0
    episodes: int = 0


@dataclass
class ActiveQuery(QueryInForce):
    """A join in force."""

    query: Query


@dataclass
class ActiveReadings(QueryInForce):
    """A query over readings in force; it gives no matches."""

    query: ReadingsQuery


def in_force(
    query: Query | ReadingsQuery, version: int, paused: bool, activation_seq: int, matches: int = 0, episodes: int = 0
) -> ActiveQuery | ActiveReadings:
    """Return a query of either kind as it is in force."""
    if isinstance(query, ReadingsQuery):
        return ActiveReadings(query, version, paused, activation_seq, matches, episodes)
    return ActiveQuery(query, version, paused, activation_seq, matches, episodes)
