"""Matches and episodes in the one order in which they were stored, for the live stream."""

from operator import attrgetter

from sqlalchemy import Connection

from services.alerting.store import episode_rows, match_rows
from services.alerting.store.episode_rows import EpisodeFilter, StoredEpisode
from services.alerting.store.match_rows import MatchFilter, StoredMatch

StoredRow = StoredMatch | StoredEpisode


def newest_sequence(connection: Connection) -> int:
    """Return the greatest sequence stored; 0 when there is none."""
    return max(match_rows.newest_sequence(connection), episode_rows.newest_sequence(connection))


def read_between(
    connection: Connection, filters: tuple[MatchFilter | None, EpisodeFilter | None], after: int, upto: int, limit: int
) -> list[StoredRow]:
    """Return up to `limit` rows with a sequence in (after, upto], oldest first; a filter None leaves out its kind.

    The two are read one after the other, and something may be stored in between: hence `upto`.
    """
    matches, episodes = filters
    rows: list[StoredRow] = []
    if matches is not None:
        rows += match_rows.read_after(connection, matches, after, limit)
    if episodes is not None:
        rows += episode_rows.read_after(connection, episodes, after, limit)
    return sorted((each for each in rows if each.sequence <= upto), key=attrgetter("sequence"))[:limit]
