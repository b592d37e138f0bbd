"""Handing over stored rows to readers of the live stream: each row once, whichever process has stored it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from services.alerting.store.alert_rows import AlertFilter
from services.alerting.store.episode_rows import EpisodeFilter
from services.alerting.store.evidence_rows import EvidenceFilter
from services.alerting.store.live_rows import RowFilters, StoredRow, newest_sequence, read_page
from services.alerting.store.match_rows import MatchFilter

EVERYTHING = [RowFilters(MatchFilter(), EvidenceFilter(), EpisodeFilter(), AlertFilter())]


@dataclass(frozen=True)
class Listeners:
    """Called on the follower's thread: with rows that were stored, and with how far a topic of one partition was read.

    `memory_read` is called once all that people said of alerts, and who has heard of them, stands in the database, with
    the term in which this process writes it; `term_ended` when it does so no more.
    """

    stored_rows: Callable[[Sequence[StoredRow]], object]
    reached: Callable[[str, int], object]
    memory_read: Callable[[str], object] = lambda _term: None
    term_ended: Callable[[], object] = lambda: None


@dataclass
class HandingOver:
    """Hands over rows in order of sequence; `upto` is that of the last one."""

    engine: Engine
    listeners: Listeners
    upto: int = 0

    def hand_over(self, rows: Sequence[StoredRow]) -> None:
        """Hand over what was just stored, in order of sequence."""
        if rows:
            self.upto = rows[-1].sequence
            self.listeners.stored_rows(rows)

    def catch_up(self) -> None:
        """Hand over all that stands in the database and was not handed over; another process may have stored it."""
        with self.engine.connect() as connection:
            newest = newest_sequence(connection)
            self.upto = min(self.upto, newest)  # where the database was made anew
            while self.upto < newest:
                rows, upto = read_page(connection, EVERYTHING, self.upto, newest)
                self.hand_over(rows)
                self.upto = upto
