"""What alerting tells of a match's evidence: how probable it is that its detections are of one event, and why."""

from __future__ import annotations

from msgspec import Struct, field


class TermAnswer(Struct, frozen=True, kw_only=True):
    """One term of the bits, with its sentence."""

    kind: str
    bits: float
    sentence: str
    sensor: str | None = None


class BelongingAnswer(Struct, frozen=True):
    """How probable it is that one detection is of one event with another member."""

    sensor: str
    id: str
    belongs: float


class EvidenceAnswer(Struct, frozen=True, kw_only=True):
    """The evidence of the match `id`; `unknown` says why bits or posterior is null."""

    id: str = ""
    bits: float | None = None
    posterior: float | None = None
    posterior_least: float | None = None
    posterior_greatest: float | None = None
    unknown: str | None = None
    rates: str = "declared"
    terms: list[TermAnswer] = field(default_factory=list)
    members: list[BelongingAnswer] = field(default_factory=list)

    @property
    def is_exact(self) -> bool:
        """Whether the posterior is a number, and no interval."""
        return self.posterior_least == self.posterior_greatest

    def belongs(self, sensor: str, id_: str) -> float | None:
        """Return how probable it is that a detection belongs; None where that is not known."""
        found = (each.belongs for each in self.members if (each.sensor, each.id) == (sensor, id_))
        return next(found, None)
