"""What a reader of the live stream wants to hear of."""

from dataclasses import dataclass
from typing import Literal

from services.alerting.store.episode_reads import EpisodeFilter
from services.alerting.store.episode_rows import StoredEpisode
from services.alerting.store.match_rows import MatchFilter, StoredMatch
from services.alerting.store.stored import Stored

Kind = Literal["matches", "episodes", "all"]


@dataclass(frozen=True)
class LiveFilter:
    """Which matches and episodes a reader wants; None asks for all."""

    query: str | None = None
    area: str | None = None
    with_superseded: bool = False
    kind: Kind = "matches"

    def wants(self, stored: Stored) -> bool:
        """Whether anything is to be said of `stored`: of a match that it is, or that another is not any longer."""
        if self.query not in (None, stored.query) or self.area not in (None, stored.area):
            return False
        if isinstance(stored, StoredEpisode):
            return self.kind != "matches"
        return self.kind != "episodes" and (self.shows(stored) or bool(stored.supersedes))

    def shows(self, match: StoredMatch) -> bool:
        """Whether `match` itself is sent, if it is wanted at all."""
        return self.with_superseded or match.superseded_by is None

    def of_stored(self) -> tuple[MatchFilter | None, EpisodeFilter | None]:
        """Return what the database is asked for of the one and of the other; None: nothing."""
        matches = MatchFilter(query=self.query, area=self.area)
        episodes = EpisodeFilter(query=self.query, area=self.area)
        return matches if self.kind != "episodes" else None, episodes if self.kind != "matches" else None
