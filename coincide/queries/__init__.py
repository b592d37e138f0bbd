"""Queries: what a continuous query is, read from JSON and checked.

`query_from_json` reads a query of any kind. A `Query` joins streams: `join_query` has its fields, `edges` says how
near in time its roles must be, `episode_rule` how its matches become episodes, and `match_limits` how many there may
be. A `ReadingsQuery` coalesces the readings of one stream in windows: `readings_query` has its fields. A `SpellQuery`
does so without windows: `spell_query` has its fields, and `reading_fields` reads those that both share. `alert_rule`
says what of a query's answers somebody is told of. `checks` has what all share: names, attributes and thresholds.
`explaining` says what a query can find with the sensors there are. A new field also stands in
``docs/contracts/query.schema.json``.
"""

from __future__ import annotations

from collections.abc import Mapping

from coincide.queries.alert_rule import AlertRule
from coincide.queries.edges import Within
from coincide.queries.episode_rule import EpisodeRule
from coincide.queries.join_query import Query
from coincide.queries.match_limits import MatchLimits
from coincide.queries.readings_query import ReadingsQuery
from coincide.queries.spell_query import SpellQuery

__all__ = [
    "AlertRule",
    "AnyQuery",
    "EpisodeRule",
    "MatchLimits",
    "Query",
    "ReadingsQuery",
    "SpellQuery",
    "Within",
    "keeps_activation",
    "query_from_json",
]

AnyQuery = Query | ReadingsQuery | SpellQuery
"""A query of any kind."""


def query_from_json(obj: object) -> AnyQuery:
    """Read a query; it is one over readings iff its `coalesce` says where they come from, of spells without a window.

    A QueryError names the field and what is allowed.

    Examples
    --------
    >>> type(query_from_json({"id": "steady", "coalesce": {"from": "temperature", "value": "attributes.celsius",
    ...     "window": {"time_s": 3600, "slide_s": 60}}, "lasting_s": 600})).__name__
    'ReadingsQuery'
    """
    coalesce = obj.get("coalesce") if isinstance(obj, Mapping) else None
    if isinstance(coalesce, Mapping) and "from" in coalesce:
        return (ReadingsQuery if "window" in coalesce else SpellQuery).from_json(obj)
    return Query.from_json(obj)


def keeps_activation(known: AnyQuery, changed: AnyQuery) -> bool:
    """Whether `changed` may use what was processed before it, as `known` could."""
    if isinstance(known, Query) and isinstance(changed, Query):
        return known.keeps_activation(changed)
    if isinstance(known, SpellQuery) and isinstance(changed, SpellQuery):
        return known.keeps_activation(changed)
    return isinstance(known, ReadingsQuery) and isinstance(changed, ReadingsQuery) and known.keeps_activation(changed)
