"""Queries: what a continuous query is, read from JSON and checked.

`query_from_json` reads a query of either kind: over joined streams, or over the readings of one.
"""

from __future__ import annotations

from coincide.queries.documents import AnyQuery, keeps_activation, query_from_json
from coincide.queries.edges import Within
from coincide.queries.episode_rule import EpisodeRule
from coincide.queries.join_query import Query
from coincide.queries.readings_query import ReadingsQuery

__all__ = ["AnyQuery", "EpisodeRule", "Query", "ReadingsQuery", "Within", "keeps_activation", "query_from_json"]
