"""The Kafka topics that alerting follows."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True)
class Topics:
    """Names of topics; the defaults are those of `config/topics.yaml`."""

    matches: str = "coincide.matches"
    dead_letters: str = "coincide.dead-letters"
    queries: str = "coincide.queries"
    status: str = "coincide.status"
    episodes: str = "coincide.episodes"

    def names(self) -> tuple[str, ...]:
        """Return every name."""
        return astuple(self)
