"""What the live stream has: matches, evidence, episodes and alerts in the order in which they were stored."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from services.alerting.store import alert_rows, episode_rows, evidence_rows, match_rows
from services.alerting.store.alert_rows import AlertFilter, StoredAlert
from services.alerting.store.episode_rows import EpisodeFilter, StoredEpisode
from services.alerting.store.evidence_rows import EvidenceFilter, StoredEvidence
from services.alerting.store.match_blocks import end_of_blocks
from services.alerting.store.match_rows import MatchFilter, StoredMatch
from services.alerting.store.tables import alerts, episodes, evidence, matches

StoredRow = StoredMatch | StoredEvidence | StoredEpisode | StoredAlert


class RowFilters(NamedTuple):
    """Which rows of each kind; None leaves out the kind."""

    matches: MatchFilter | None = None
    evidence: EvidenceFilter | None = None
    episodes: EpisodeFilter | None = None
    alerts: AlertFilter | None = None


def newest_sequence(connection: Connection) -> int:
    """Return the greatest sequence stored; 0 when there is none."""
    columns = matches.c.sequence, evidence.c.sequence, episodes.c.changed_sequence, alerts.c.changed_sequence
    return max(connection.execute(select(func.max(column))).scalar() or 0 for column in columns)


PAGE_ROWS = 500
#: Blocks of matches that a page goes through at most, whatever passes the filters: 65,536 matches.
PAGE_BLOCKS = 16
FEWEST_OF_EACH = 25  # however many queries and kinds share a page


def read_page(
    connection: Connection, filters: Sequence[RowFilters], after: int, upto: int
) -> tuple[list[StoredRow], int]:
    """Return the next rows with a sequence in (after, upto], oldest first, and up to where there are no others.

    All filters and kinds together read about `PAGE_ROWS`, and go through at most `PAGE_BLOCKS` of matches. They are
    read one after the other, and something may be stored in between: hence `upto`.
    """
    end = end_of_blocks(connection, after, PAGE_BLOCKS)
    upto = upto if end is None else min(upto, end)
    has_evidence = evidence_rows.is_any(connection, after, upto)  # else matches have the whole share
    reads = [read for each in filters for read in _reads(connection, each, upto, has_evidence=has_evidence)]
    share = max(FEWEST_OF_EACH, PAGE_ROWS // len(reads))
    parts = [read(after, share) for read in reads]
    until = min([upto, *(part[-1].sequence for part in parts if len(part) == share)])
    rows = [each for part in parts for each in part if each.sequence <= until]
    return sorted(rows, key=attrgetter("sequence")), until


def _reads(
    connection: Connection, filters: RowFilters, upto: int, *, has_evidence: bool
) -> Iterator[Callable[[int, int], Sequence[StoredRow]]]:
    """Return, for each kind, what reads up to so many rows with a sequence above another, oldest first."""
    if filters.matches is not None:
        yield partial(match_rows.read_after, connection, filters.matches, upto=upto)
    if filters.evidence is not None and has_evidence:
        yield partial(evidence_rows.read_after, connection, filters.evidence, upto=upto)
    if filters.episodes is not None:
        yield partial(episode_rows.read_after, connection, filters.episodes)
    if filters.alerts is not None:
        yield partial(alert_rows.read_after, connection, filters.alerts)
