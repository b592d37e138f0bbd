"""Queries in force, of both kinds: joins and queries over readings."""

from dataclasses import dataclass

from coincide.queries import Query, ReadingsQuery


@dataclass
class QueryInForce:
    """A query in the version that is in force."""

    query: Query | ReadingsQuery
    version: int
    paused: bool
    activation_seq: int  # detections count from it on; only a change of thresholds or a pause keeps it
    matches: int = 0  # of all versions
    episodes: int = 0  # records of episodes, of all versions


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
