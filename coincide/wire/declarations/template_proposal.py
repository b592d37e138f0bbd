"""Records of coincide.template-proposals: templates that were learnt and wait until somebody accepts or rejects them.

The topic is compacted, and the key is sensor and stream, so that the newest proposal replaces an older one. The id is
made from what is proposed: whoever accepts an id accepts that very template, though a newer proposal may have come.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from coincide.errors import HistogramError
from coincide.learning.calibration import Calibration, Pool, SharedPart
from coincide.templates.histogram import Histogram
from coincide.wire.content_ids import content_id
from coincide.wire.fields import Count, FormatVersion, Microseconds, Name, Probability

PROPOSALS = "template-proposals"

State = Literal["open", "accepted", "rejected"]


class TemplateForm(Struct, frozen=True):
    """A histogram as JSON has it."""

    edges_s: Annotated[list[float], Meta(min_length=2)]
    mass: Annotated[list[Probability], Meta(min_length=1)]


class OtherSensor(Struct, frozen=True):
    """A sensor on a stream."""

    sensor: Name
    stream: Name


class SharedForm(Struct, frozen=True, kw_only=True):
    """What of a sensor's errors moves together with those of others, and what is left."""

    clock: Annotated[
        Name | None,
        Meta(description="The clock that it was on; null: none was declared, though the errors say that there is one."),
    ] = None
    others: Annotated[list[OtherSensor], Meta(description="With which they move together.", min_length=1)]
    correlation: Annotated[
        Probability, Meta(description="The least rank correlation that joins one of all these to the others.")
    ]
    events: Annotated[Count, Meta(description="Events that two of them or more have reported.")]
    error: Annotated[TemplateForm, Meta(description="What they err together: the error of their clock.")]
    own: Annotated[TemplateForm, Meta(description="What the sensor errs beside that.")]


class TemplateProposal(Struct, frozen=True, kw_only=True):
    """A template that was learnt for a sensor on a stream, and what became of it.

    Key: the JSON array of sensor and stream. The topic is compacted: a newer proposal replaces an older one, and a null
    value removes it.
    """

    v: FormatVersion = 1
    id: Annotated[
        str,
        Meta(description="Made from sensor, stream and template.", extra_json_schema={"pattern": "^p-[0-9a-f]{32}$"}),
    ]
    sensor: Name
    stream: Name
    template: TemplateForm
    errors: Annotated[Count, Meta(description="Errors it was learnt from.")]
    pool: Annotated[Pool, Meta(description="Whose errors: the sensor's own, or those of all of its model or stream.")]
    wrong_share: Annotated[Probability, Meta(description="Estimated share of wrong associations.")]
    distance: Annotated[
        Probability | None,
        Meta(description="Of the P-P plot from its diagonal, on later errors; null if none were held out."),
    ] = None
    score: Annotated[
        float | None,
        Meta(description="Mean natural logarithm of the density at later errors, per second; null as above."),
    ] = None
    present_score: Annotated[
        float | None, Meta(description="The same with the template of that time; null if there was none.")
    ] = None
    shared: Annotated[
        SharedForm | None,
        Meta(description="What moves together with the errors of others; null: nothing, as far as is known."),
    ] = None
    proposed_at_us: Microseconds
    state: State = "open"
    decided_at_us: Annotated[Microseconds | None, Meta(description="When it was accepted or rejected.")] = None

    @property
    def histogram(self) -> Histogram:
        """The proposed template; raises HistogramError if it is none."""
        return Histogram(self.template.edges_s, self.template.mass)

    def own_on(self, clock: str) -> Histogram | None:
        """Return what it errs beside a clock; None if that was not learnt, or of another one."""
        if self.shared is None or self.shared.clock != clock:
            return None
        return Histogram(self.shared.own.edges_s, self.shared.own.mass)

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
        if proposal.shared is not None:
            _ = [Histogram(each.edges_s, each.mass) for each in (proposal.shared.error, proposal.shared.own)]
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
        shared=None if calibration.shared is None else _shared_form(calibration.shared),
        proposed_at_us=proposed_at_us,
    )


def _shared_form(shared: SharedPart) -> SharedForm:
    return SharedForm(
        clock=shared.clock,
        others=[OtherSensor(*each) for each in shared.others],
        correlation=shared.correlation,
        events=shared.events,
        error=TemplateForm(**shared.error.to_json()),
        own=TemplateForm(**shared.own.to_json()),
    )
