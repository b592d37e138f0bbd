"""Queries: what a continuous query is, read from JSON and checked.

`query_from_json` reads a query of either kind. A `Query` joins streams: `join_query` has its fields, `edges` says how
near in time its roles must be, and `episode_rule` how its matches become episodes. A `ReadingsQuery` coalesces the
readings of one stream: `readings_query` has its fields, and `reading_fields` reads them. `checks` has what both share:
names, attributes and thresholds. A new field also stands in ``docs/contracts/query.schema.json``.
"""

from __future__ import annotations

from coincide.queries.documents import AnyQuery, keeps_activation, query_from_json
from coincide.queries.edges import Within
from coincide.queries.episode_rule import EpisodeRule
from coincide.queries.join_query import Query
from coincide.queries.readings_query import ReadingsQuery

__all__ = ["AnyQuery", "EpisodeRule", "Query", "ReadingsQuery", "Within", "keeps_activation", "query_from_json"]
