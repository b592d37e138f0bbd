"""Reading episodes as they are now, and how they came to be so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Row, Select, func, select

from services.alerting.episode_records import RETRACTED, STATES
from services.alerting.store.conditions import where_equal, where_overlaps
from services.alerting.store.episode_rows import StoredEpisode
from services.alerting.store.served import with_member
from services.alerting.store.tables import episode_revisions, episodes


@dataclass(frozen=True)
class EpisodeFilter:
    """Which episodes: None asks for all. An episode overlaps [from_us, to_us], both ends closed.

    A retraction says neither when nor how probable: with those conditions it does not pass.
    """

    query: str | None = None
    area: str | None = None
    from_us: int | None = None
    to_us: int | None = None
    min_probability: float | None = None
    state: str | None = None
    retracted: bool | None = None


def newest_sequence(connection: Connection) -> int:
    """Return the greatest sequence of what counts; 0 when there is none."""
    return connection.execute(select(func.max(episodes.c.changed_sequence))).scalar() or 0


def read_episode(connection: Connection, id_: str) -> str | None:
    """Return the JSON of the episode `id_` as it is now, retracted or not; None when there is none."""
    body: str | None = connection.execute(_select(episode_revisions.c.body).where(episodes.c.id == id_)).scalar()
    return body


def read_newest_first(
    connection: Connection, wanted: EpisodeFilter, before: int | None, limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return up to `limit` (sequence, body) with a sequence below `before`, those newest found first.

    The sequence is that of an episode's first revision, so that it keeps its place when it changes.
    """
    statement = _filtered(_select(episodes.c.sequence, episode_revisions.c.body), wanted)
    if before is not None:
        statement = statement.where(episodes.c.sequence < before)
    return connection.execute(statement.order_by(episodes.c.sequence.desc()).limit(limit)).all()


def read_after(connection: Connection, wanted: EpisodeFilter, after: int, limit: int) -> list[StoredEpisode]:
    """Return up to `limit` episodes of which what counts has a sequence above `after`, oldest change first."""
    e = episodes.c
    columns = _select(e.changed_sequence, e.id, e.query, e.area, e.rank, episode_revisions.c.body)
    statement = _filtered(columns, wanted).where(e.changed_sequence > after).order_by(e.changed_sequence)
    return [StoredEpisode(*row) for row in connection.execute(statement.limit(limit))]


def read_revisions(connection: Connection, id_: str, before: int | None, limit: int) -> list[tuple[int, str]]:
    """Return up to `limit` (sequence, JSON) of the revisions of `id_` stored before `before`, newest first."""
    r = episode_revisions.c
    statement = select(r.sequence, r.stored_at_us, r.body).where(r.id == id_)
    if before is not None:
        statement = statement.where(r.sequence < before)
    rows = connection.execute(statement.order_by(r.sequence.desc()).limit(limit))
    return [(row.sequence, with_member(row.body, "stored_at_us", row.stored_at_us)) for row in rows]


def _select(*columns: Column[Any]) -> Select[Any]:
    what_counts = episode_revisions.c.sequence == episodes.c.changed_sequence
    return select(*columns).select_from(episodes.join(episode_revisions, what_counts))


def _filtered(statement: Select[Any], wanted: EpisodeFilter) -> Select[Any]:
    e = episodes.c
    rank = None if wanted.state is None else STATES.index(wanted.state)
    statement = where_equal(statement, (e.query, wanted.query), (e.area, wanted.area), (e.rank, rank))
    statement = where_overlaps(statement, (e.start_us, e.end_us), wanted.from_us, wanted.to_us)
    if wanted.min_probability is not None:
        statement = statement.where(e.best_probability >= wanted.min_probability)
    if wanted.retracted is not None:
        statement = statement.where(e.rank == RETRACTED if wanted.retracted else e.rank != RETRACTED)
    return statement
