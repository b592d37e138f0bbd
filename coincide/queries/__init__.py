"""Queries: what a continuous query is, read from JSON and checked.

`query_from_json` reads a query of any kind. A `Query` joins streams: `joins` has all of it. A `ReadingsQuery` coalesces
the readings of one stream in windows, and a `SpellQuery` does so without: `readings` has both. `fields` has what every
query has. `sql` reads and writes queries as SQL, in the `language` that they share, and `explaining` says what a join
can find with the sensors there are. A new field also stands in ``query.schema.json`` beside this file.

Nobody asks of which class a query is. Each says of itself which streams it names (`named_streams`), which detections
it may still need (`needed_since_us`), and whether it goes on with a change (`keeps_activation`). A new kind is a
folder, a class in `KINDS`, its SQL in `sql`, and a module in ``coincide/fusion/kinds/`` of what a shard holds for it.
Whoever does something else for some kinds has a table by `Kind`: ``tests/coincide/queries/test_kinds.py`` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from coincide.queries.fields.alert_rule import AlertRule
from coincide.queries.joins.edges import Within
from coincide.queries.joins.episode_rule import EpisodeRule
from coincide.queries.joins.join_query import Query
from coincide.queries.joins.match_limits import MatchLimits
from coincide.queries.readings.readings_query import ReadingsQuery
from coincide.queries.readings.spell_query import SpellQuery

__all__ = [
    "KINDS",
    "AlertRule",
    "AnyQuery",
    "EpisodeRule",
    "Kind",
    "MatchLimits",
    "Query",
    "ReadingsQuery",
    "SpellQuery",
    "Within",
    "query_from_json",
]

AnyQuery = Query | ReadingsQuery | SpellQuery
"""A query of any kind."""

Kind = Literal["join", "windows", "spells"]
"""The kind of a query, by which everybody may keep a table of their own."""

KINDS: tuple[type[AnyQuery], ...] = (ReadingsQuery, SpellQuery, Query)
"""All kinds; a document is of the first that it asks for."""


def query_from_json(obj: object) -> AnyQuery:
    """Read a query; it is one over readings iff its `coalesce` says where they come from, of spells without a window.

    A QueryError names the field and what is allowed.

    Examples
    --------
    >>> query_from_json({"id": "steady", "coalesce": {"from": "temperature", "value": "attributes.celsius",
    ...     "window": {"time_s": 3600, "slide_s": 60}}, "lasting_s": 600}).kind
    'windows'
    """
    document = obj if isinstance(obj, Mapping) else {}
    return next(kind for kind in KINDS if kind.is_asked_by(document)).from_json(obj)
