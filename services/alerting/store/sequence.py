"""Matches and episodes in the one order in which they were stored, as the live stream tells them."""

from operator import attrgetter

from sqlalchemy import Connection

from services.alerting.store import episode_rows, match_rows
from services.alerting.store.episode_rows import EpisodeFilter, StoredEpisode
from services.alerting.store.match_rows import MatchFilter, StoredMatch

Stored = StoredMatch | StoredEpisode


def newest_sequence(connection: Connection) -> int:
    """Return the greatest sequence stored; 0 when there is none."""
    return max(match_rows.newest_sequence(connection), episode_rows.newest_sequence(connection))


def read_between(
    connection: Connection, wanted: tuple[MatchFilter | None, EpisodeFilter | None], after: int, upto: int, limit: int
) -> list[Stored]:
    """Return up to `limit` of what has a sequence in (after, upto], oldest first; a filter None wants none of its kind.

    The two are read one after the other, and something may be stored in between: hence `upto`.
    """
    matches, episodes = wanted
    found: list[Stored] = []
    if matches is not None:
        found += match_rows.read_after(connection, matches, after, limit)
    if episodes is not None:
        found += episode_rows.read_after(connection, episodes, after, limit)
    return sorted((each for each in found if each.sequence <= upto), key=attrgetter("sequence"))[:limit]
