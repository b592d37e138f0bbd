"""What the live stream has: matches, episodes and alerts in the one order in which they were stored or changed."""

from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from services.alerting.store import alert_rows, episode_rows, match_rows
from services.alerting.store.alert_rows import AlertFilter, StoredAlert
from services.alerting.store.episode_rows import EpisodeFilter, StoredEpisode
from services.alerting.store.match_rows import MatchFilter, StoredMatch
from services.alerting.store.tables import alerts, episodes, matches

StoredRow = StoredMatch | StoredEpisode | StoredAlert


class RowFilters(NamedTuple):
    """Which rows of each kind; None leaves out the kind."""

    matches: MatchFilter | None = None
    episodes: EpisodeFilter | None = None
    alerts: AlertFilter | None = None


def newest_sequence(connection: Connection) -> int:
    """Return the greatest sequence stored; 0 when there is none."""
    columns = matches.c.sequence, episodes.c.changed_sequence, alerts.c.changed_sequence
    return max(connection.execute(select(func.max(column))).scalar() or 0 for column in columns)


def read_between(connection: Connection, filters: RowFilters, after: int, upto: int, limit: int) -> list[StoredRow]:
    """Return up to `limit` rows with a sequence in (after, upto], oldest first.

    The kinds are read one after the other, and something may be stored in between: hence `upto`.
    """
    rows: list[StoredRow] = []
    if filters.matches is not None:
        rows += match_rows.read_after(connection, filters.matches, after, limit)
    if filters.episodes is not None:
        rows += episode_rows.read_after(connection, filters.episodes, after, limit)
    if filters.alerts is not None:
        rows += alert_rows.read_after(connection, filters.alerts, after, limit)
    return sorted((each for each in rows if each.sequence <= upto), key=attrgetter("sequence"))[:limit]
