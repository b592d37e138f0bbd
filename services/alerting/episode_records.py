"""The records of coincide.episodes: an episode as it is at a revision, or that it is no more."""

from typing import Annotated, Literal

import msgspec

from services.alerting.records import INT64_MAX, Microseconds, Name, Version

#: States in the order in which an episode goes through them at one revision; a state's rank is its place here.
STATES = ("open", "closed", "final", "retracted")
RETRACTED = STATES.index("retracted")

Count = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX)]
Probability = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Episode(msgspec.Struct):
    """A record of coincide.episodes; one that is `retracted` need not say more of the episode than its id."""

    v: Literal[1]
    id: Name
    query: Name
    query_version: Version
    area: Name
    revision: Count
    retracted: bool = False
    replaced_by: list[Name] = []
    start_us: Microseconds | None = None
    end_us: Microseconds | None = None
    count: Count | None = None
    best_probability: Probability | None = None
    open: bool | None = None
    final: bool | None = None
    received_at_us: Microseconds | None = None

    def __post_init__(self) -> None:
        if self.id in self.replaced_by:
            raise ValueError("is replaced by itself")
        if self.start_us is not None and self.end_us is not None and self.start_us > self.end_us:
            raise ValueError("start_us is after end_us")
        if self.open and self.final:
            raise ValueError("is open and final")
        if not self.retracted:
            self._refuse_half_an_episode()

    def _refuse_half_an_episode(self) -> None:
        for name in ("start_us", "end_us", "count", "open", "final", "received_at_us"):
            if getattr(self, name) is None:
                raise ValueError(f"neither is retracted true nor {name} given")

    @property
    def rank(self) -> int:
        """Place of its state in `STATES`: of two records at one revision the greater counts."""
        if self.retracted:
            return RETRACTED
        return STATES.index("open" if self.open else "final" if self.final else "closed")


episode_decoder = msgspec.json.Decoder(Episode)
