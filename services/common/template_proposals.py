"""Records of coincide.template-proposals: templates that were learnt and wait until somebody accepts or rejects them.

The topic is compacted, and the key is sensor and stream, so that the newest proposal replaces an older one. The id is
made from what is proposed: whoever accepts an id accepts that very template, though a newer proposal may have come.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from coincide.errors import HistogramError
from coincide.learning.calibration import Calibration, Pool
from coincide.templates.histogram import Histogram
from coincide.wire.content_ids import content_id
from coincide.wire.fields import Microseconds

PROPOSALS = "template-proposals"

State = Literal["open", "accepted", "rejected"]


class TemplateForm(Struct, frozen=True):
    """A histogram as JSON has it."""

    edges_s: list[float]
    mass: list[float]


class TemplateProposal(Struct, frozen=True, kw_only=True):
    """What was learnt for one sensor on one stream, from what, and what became of it."""

    v: Literal[1] = 1
    id: str
    sensor: str
    stream: str
    template: TemplateForm
    errors: int
    pool: Pool
    wrong_share: float
    distance: float | None = None
    score: float | None = None
    present_score: float | None = None
    proposed_at_us: Microseconds
    state: State = "open"
    decided_at_us: Microseconds | None = None

    @property
    def histogram(self) -> Histogram:
        """The proposed template; raises HistogramError if it is none."""
        return Histogram(self.template.edges_s, self.template.mass)

    @property
    def is_better(self) -> bool:
        """Whether it does better than the present one on later errors; it does not where nobody can tell."""
        return self.is_judged and self.score > self.present_score  # type: ignore[operator]

    @property
    def is_judged(self) -> bool:
        """Whether there are later errors, and a present template, to judge it by."""
        return self.score is not None and self.present_score is not None

    @property
    def key(self) -> bytes:
        """The record's key."""
        return msgspec.json.encode([self.sensor, self.stream])

    def to_record(self) -> bytes:
        """Return the record's value."""
        return msgspec.json.encode(self)


class ProposalError(ValueError):
    """A record that is no proposal."""


_decode = msgspec.json.Decoder(TemplateProposal).decode


def proposal_in(value: bytes) -> TemplateProposal:
    """Read what `to_record` wrote; raises `ProposalError`."""
    try:
        proposal = _decode(value)
        _ = proposal.histogram
    except (msgspec.MsgspecError, HistogramError, UnicodeDecodeError, RecursionError) as error:
        raise ProposalError(f"not a template proposal: {error}") from error
    return proposal


def proposal_of(calibration: Calibration, proposed_at_us: int) -> TemplateProposal | None:
    """Return what a calibration proposes; None if nothing was learnt."""
    learnt, held_out = calibration.learnt, calibration.held_out
    if learnt is None or calibration.pool is None:
        return None
    of = calibration.of
    return TemplateProposal(
        id=content_id("p", [of.sensor, of.stream, learnt.template.id]),
        sensor=of.sensor,
        stream=of.stream,
        template=TemplateForm(**learnt.template.to_json()),
        errors=learnt.count,
        pool=calibration.pool,
        wrong_share=learnt.wrong_share,
        distance=None if held_out is None else held_out.fit.distance,
        score=None if held_out is None else held_out.score,
        present_score=None if held_out is None else held_out.present_score,
        proposed_at_us=proposed_at_us,
    )
