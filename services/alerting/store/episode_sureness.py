"""How sure it is that something in an episode is one event, kept beside the episode so that lists can go by it.

What is kept is worked out from evidence whenever some of it comes or goes: it says nothing that `episode_evidence` does
not say.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, func, literal, select, tuple_

from coincide.wire.results.episode_record import RETRACTED
from services.alerting.store.dialect import in_this_order, upsert, where_equal
from services.alerting.store.episode_evidence import JudgedEpisode, read_bodies, read_judged
from services.alerting.store.episode_rows import EpisodeFilter, episode_body, filtered
from services.alerting.store.evidence_rows import IDS_A_STATEMENT
from services.alerting.store.match_rows import SurestPlace
from services.alerting.store.tables import episode_revisions, episode_sureness, episodes

#: No other order would find the surest first.
BY_SURENESS = in_this_order(episode_sureness, episodes)


class SureEpisode(NamedTuple):
    """An episode of a list of the surest: what its place goes by, and its JSON as it is now."""

    posterior: float
    sequence: int
    upto: int
    body: str


def keep_sureness(connection: Connection, judged: Mapping[str, JudgedEpisode], ids: Collection[str], at: int) -> None:
    """Keep what is known of those of the episodes `ids` that stand; `at` is the place in the order of insertion."""
    id_list, rows, e = list(ids), list[dict[str, object]](), episodes.c
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        some = id_list[first : first + IDS_A_STATEMENT]
        connection.execute(delete(episode_sureness).where(episode_sureness.c.id.in_(some)))
        standing = select(e.id, e.query, e.sequence).where(e.id.in_(some), e.rank != RETRACTED)
        rows += [
            {"posterior": judged[row.id].surest.posterior, "told_sequence": at, **row._asdict()}
            for row in connection.execute(standing)
            if row.id in judged
        ]
    if rows:
        connection.execute(upsert(connection, episode_sureness), rows)


def renew_sureness(connection: Connection, ids: Collection[str]) -> None:
    """Keep what is known of episodes of which some evidence is no more."""
    if ids:
        newest = connection.execute(select(func.max(episode_sureness.c.told_sequence))).scalar() or 0
        keep_sureness(connection, read_judged(connection, ids), ids, newest)


def read_surest_first(
    connection: Connection, filters: EpisodeFilter, before: SurestPlace | None, limit: int
) -> list[SureEpisode]:
    """Return up to `limit` behind a place, those whose surest match is most probably one event first.

    Episodes of which nothing is known have no place. What is told anew while somebody turns pages is on none of them.
    """
    s = episode_sureness.c
    upto = before.upto if before else connection.execute(select(func.max(s.told_sequence))).scalar() or 0
    columns = s.posterior, s.sequence, literal(upto).label("upto"), episodes.c.id, episode_revisions.c.body
    joined = BY_SURENESS.join(episode_revisions, episode_revisions.c.sequence == episodes.c.changed_sequence)
    statement: Select[Any] = select(*columns).select_from(joined).where(episodes.c.id == s.id)
    statement = statement.where(s.told_sequence + 0 <= upto)  # + 0: no index of sequences is worth the order
    statement = filtered(where_equal(statement, (s.query, filters.query)), replace(filters, min_posterior=None))
    if filters.min_posterior is not None:
        statement = statement.where(s.posterior >= filters.min_posterior)
    if before is not None:
        statement = statement.where(tuple_(s.posterior, s.sequence) < tuple_(before.posterior, before.sequence))
    rows = connection.execute(statement.order_by(s.posterior.desc(), s.sequence.desc()).limit(limit)).all()
    told = read_bodies(connection, [row.id for row in rows])
    return [
        SureEpisode(row.posterior, row.sequence, row.upto, episode_body(row.body, told.get(row.id, "null")))
        for row in rows
    ]
