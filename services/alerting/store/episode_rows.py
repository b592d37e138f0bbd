"""Episodes in the database: every new revision, and the one that counts.

What counts of an episode is its greatest (revision, rank). Each record that is greater than what is known of its
episode is kept under a place of its own in the order of insertion, which it shares with the matches; the episode
points at the one that counts. So it does not matter in what order the records come, or how often.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Column, Connection, Row, Select, insert, select

from coincide.wire.fields import or_none
from coincide.wire.results.episode_record import RETRACTED, STATES, EpisodeRecord
from services.alerting.store.dialect import Rows, newest_first, reserve_sequences, upsert, where_equal, where_overlaps
from services.alerting.store.episode_evidence import read_bodies
from services.alerting.store.match_rows import with_json
from services.alerting.store.tables import episode_revisions, episode_sureness, episodes, matches

IDS_A_STATEMENT = 1000

_decode = msgspec.json.Decoder(EpisodeRecord).decode

#: An episode's revision and the rank of its state there; the greatest counts.
Standing = tuple[int, int]


@dataclass(frozen=True)
class ReceivedEpisode:
    """An episode as read from Kafka: the record, its JSON on one line, and by when retention counts it."""

    record: EpisodeRecord
    body: str
    received_at_us: int

    @property
    def standing(self) -> Standing:
        """What decides which record counts."""
        return self.record.revision, self.record.rank


@dataclass(frozen=True)
class StoredEpisode:
    """An episode for the live stream; `sequence` is the place of this revision in the order of insertion.

    `evidence` is the JSON of what is known of its matches.
    """

    sequence: int
    id: str
    query: str
    area: str
    rank: int
    body: str
    evidence: str = "null"

    @property
    def is_retracted(self) -> bool:
        """Whether the episode was retracted."""
        return self.rank == RETRACTED


@dataclass(frozen=True)
class NewRevision:
    """A record that was news: its place in the order of insertion, and the revision known before it, if any."""

    sequence: int
    received: ReceivedEpisode
    known_revision: int | None

    @property
    def is_first(self) -> bool:
        """Whether nothing was known of the episode."""
        return self.known_revision is None

    @property
    def came_with_detection(self) -> bool:
        """Whether a detection changed the episode. Otherwise time closed it or made it final, or it was retracted."""
        record = self.received.record
        is_change = self.known_revision is None or self.known_revision < record.revision
        return is_change and not record.final and not record.retracted

    def stored(self) -> StoredEpisode:
        """Return the row for the live stream."""
        record = self.received.record
        return StoredEpisode(self.sequence, record.id, record.query, record.area, record.rank, self.received.body)


def insert_episodes(
    connection: Connection, received: Sequence[ReceivedEpisode], stored_at_us: int
) -> list[NewRevision]:
    """Store `received` and return those that were news, in order of sequence."""
    known = _known(connection, {each.record.id for each in received})
    news: list[tuple[ReceivedEpisode, int | None]] = []
    for each in received:
        before = known.get(each.record.id)
        if before is None or before < each.standing:
            known[each.record.id] = each.standing
            news.append((each, before and before[0]))
    if not news:
        return []
    places = count(reserve_sequences(connection, matches, len(news)))
    new = [NewRevision(sequence, *each) for sequence, each in zip(places, news, strict=False)]
    connection.execute(insert(episode_revisions), [_revision_row(each, stored_at_us) for each in new])
    connection.execute(upsert(connection, episodes, keep=("sequence",)), _episode_rows(new))
    return new


def _known(connection: Connection, ids: Collection[str]) -> dict[str, Standing]:
    e = episodes.c
    known: dict[str, Standing] = {}
    id_list = list(ids)
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        some = e.id.in_(id_list[first : first + IDS_A_STATEMENT])
        rows = connection.execute(select(e.id, e.revision, e.rank).where(some))
        known.update({row.id: (row.revision, row.rank) for row in rows})
    return known


def _revision_row(new: NewRevision, stored_at_us: int) -> dict[str, object]:
    of_record = {name: getattr(new.received.record, name) for name in ("id", "revision", "rank")}
    times = {"received_at_us": new.received.received_at_us, "stored_at_us": stored_at_us}
    return {"sequence": new.sequence, **of_record, **times, "body": new.received.body}


def _episode_rows(new: Iterable[NewRevision]) -> list[dict[str, object]]:
    """Return each episode's row: its place is that of its first revision, all else that of its last."""
    apart = ("sequence", "changed_sequence", "received_at_us")
    of_record = [column.name for column in episodes.columns if column.name not in apart]
    rows: dict[str, dict[str, object]] = {}
    for each in new:
        record = each.received.record
        rows[record.id] = {
            **{name: or_none(getattr(record, name)) for name in of_record},
            "sequence": rows.get(record.id, {}).get("sequence", each.sequence),
            "changed_sequence": each.sequence,
            "received_at_us": each.received.received_at_us,
        }
    return list(rows.values())


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
    min_posterior: float | None = None


def episode_body(body: str, evidence: str) -> str:
    """Return the JSON of an episode as it was written, with what is known of its matches."""
    return with_json(body, "evidence", evidence)


def read_episode(connection: Connection, id_: str) -> str | None:
    """Return the JSON of the episode `id_` as it is now, retracted or not; None when there is none."""
    body: str | None = connection.execute(_select(episode_revisions.c.body).where(episodes.c.id == id_)).scalar()
    return None if body is None else episode_body(body, read_bodies(connection, [id_]).get(id_, "null"))


def read_received(connection: Connection, ids: Collection[str]) -> list[ReceivedEpisode]:
    """Return what counts now of those of the episodes `ids` that there are, in the order in which they changed."""
    id_list, columns = list(ids), (episodes.c.changed_sequence, episode_revisions.c.body, episodes.c.received_at_us)
    rows: list[Row[Any, Any, Any]] = []
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        some = episodes.c.id.in_(id_list[first : first + IDS_A_STATEMENT])
        rows += connection.execute(_select(*columns).where(some))
    return [ReceivedEpisode(_decode(body), body, received_at_us) for _, body, received_at_us in sorted(rows)]


class ListedEpisode(NamedTuple):
    """An episode of a list: the sequence of its first revision, and its JSON as it is now."""

    sequence: int
    body: str


def read_newest_first(
    connection: Connection, filters: EpisodeFilter, before: int | None, limit: int
) -> list[ListedEpisode]:
    """Return up to `limit` with a sequence below `before`, those newest found first.

    The sequence is that of an episode's first revision, so that it keeps its place when it changes.
    """
    statement = filtered(_select(episodes.c.sequence, episodes.c.id, episode_revisions.c.body), filters)
    rows = newest_first(connection, statement, episodes.c.sequence, before, limit)
    judged = read_bodies(connection, [row.id for row in rows])
    return [ListedEpisode(row.sequence, episode_body(row.body, judged.get(row.id, "null"))) for row in rows]


def read_after(connection: Connection, filters: EpisodeFilter, after: int, limit: int) -> list[StoredEpisode]:
    """Return up to `limit` episodes of which what counts has a sequence above `after`, oldest change first."""
    e = episodes.c
    columns = _select(e.changed_sequence, e.id, e.query, e.area, e.rank, episode_revisions.c.body)
    statement = filtered(columns, filters).where(e.changed_sequence > after).order_by(e.changed_sequence)
    rows = connection.execute(statement.limit(limit)).all()
    judged = read_bodies(connection, [row.id for row in rows])
    return [replace(StoredEpisode(*row), evidence=judged.get(row.id, "null")) for row in rows]


def read_revisions(connection: Connection, id_: str, before: int | None, limit: int) -> Rows:
    """Return up to `limit` (sequence, stored_at_us, body) of the revisions of `id_` before `before`, newest first."""
    r = episode_revisions.c
    statement = select(r.sequence, r.stored_at_us, r.body).where(r.id == id_)
    return newest_first(connection, statement, r.sequence, before, limit)


def _select(*columns: Column[Any]) -> Select[Any]:
    what_counts = episode_revisions.c.sequence == episodes.c.changed_sequence
    return select(*columns).select_from(episodes.join(episode_revisions, what_counts))


def filtered(statement: Select[Any], filters: EpisodeFilter) -> Select[Any]:
    """Restrict a statement over episodes to those that pass."""
    e = episodes.c
    rank = None if filters.state is None else STATES.index(filters.state)
    statement = where_equal(statement, (e.query, filters.query), (e.area, filters.area), (e.rank, rank))
    statement = where_overlaps(statement, (e.start_us, e.end_us), filters.from_us, filters.to_us)
    if filters.min_probability is not None:
        statement = statement.where(e.best_probability >= filters.min_probability)
    if filters.min_posterior is not None:
        s = episode_sureness.alias()
        sure = select(s.c.id).where(s.c.id == e.id, s.c.posterior >= filters.min_posterior)
        statement = statement.where(sure.exists())
    if filters.retracted is not None:
        statement = statement.where(e.rank == RETRACTED if filters.retracted else e.rank != RETRACTED)
    return statement
