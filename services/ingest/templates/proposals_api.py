"""GET /v1/template-proposals and their accept and reject: a template changes only when somebody says so."""

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from coincide.wire.declarations.template_proposal import PROPOSALS, State, TemplateProposal
from coincide.wire.fields import LONGEST_NAME
from services.common.access.caller import Caller
from services.common.access.who import Author
from services.common.http.pages import (
    Page,
    PageParameters,
    page_of_names,
)
from services.common.http.preconditions import Precondition
from services.common.http.problem import Problem, try_again
from services.common.http.route_table import IN_PATH
from services.common.log.faults import LogError
from services.ingest.http.histogram_body import EdgesSeconds, Mass
from services.ingest.registry.sensor_changes import SensorChanges
from services.ingest.registry.sensors import Sensor, refuse_unfit_template
from services.ingest.templates.proposals_topic import ReadProposals
from services.ingest.verdicts import Refused


class OtherBody(BaseModel):
    """A sensor on a stream."""

    sensor: str
    stream: str


class ErrorBody(BaseModel):
    """A distribution of errors."""

    edges_s: list[float] = Field(description="bucket bounds in seconds, one more than there are buckets")
    mass: list[float] = Field(description="probability of each bucket, summing to 1")


class SharedBody(BaseModel):
    """What of a sensor's errors moves together with those of others."""

    clock: str | None = Field(description="the clock that it was on; null: none was declared")
    others: list[OtherBody] = Field(description="with whose errors they move together")
    correlation: float = Field(description="the least rank correlation that joins one of all these to the others")
    events: int = Field(description="events that two of them or more have reported")
    error: ErrorBody = Field(description="what they err together: the error of their clock")
    own: ErrorBody = Field(
        description="what the sensor errs beside that; on that clock it is accepted with the template"
    )


class ProposalBody(BaseModel):
    """A template that was learnt for a sensor on a stream, and what became of it."""

    id: str
    sensor: str
    stream: str
    edges_s: EdgesSeconds
    mass: Mass
    errors: int = Field(description="errors it was learnt from")
    pool: str = Field(description="whose errors: own, or of all of the same model or stream")
    wrong_share: float = Field(description="estimated share of wrong associations among them")
    distance: float | None = Field(description="of the P-P plot from its diagonal, on later errors")
    score: float | None = Field(description="mean logarithm of the density at later errors")
    present_score: float | None = Field(description="the same with the template of that time")
    shared: SharedBody | None = Field(description="what moves together with the errors of others; null: nothing does")
    proposed_at_us: int
    state: State
    decided_at_us: int | None


class ProposalPage(Page[ProposalBody]):
    """A page of proposals in the order of sensors and streams."""


class ProposalFilters(PageParameters):
    """Which proposals."""

    state: State | None = Field(None, description="Only proposals in this state.")
    sensor: str | None = Field(None, max_length=LONGEST_NAME, description="Only proposals for this sensor.")

    @property
    def chosen(self) -> tuple[object, ...]:
        """What a cursor holds for."""
        return "proposals", self.state, self.sensor

    def admits(self, proposal: TemplateProposal) -> bool:
        """Whether a proposal is asked for."""
        return self.state in {None, proposal.state} and self.sensor in {None, proposal.sensor}


ANY_VERSION = Precondition(any_version=True)
Id = Annotated[str, Path(max_length=LONGEST_NAME, pattern=IN_PATH)]
DECIDED: dict[int | str, dict[str, Any]] = {
    404: {"description": "No such proposal"},
    409: {"description": "Decided otherwise, or it does not fit"},
}


class Proposals:
    """Reads and decides proposals, one request at a time; `read` blocks and runs in a thread."""

    def __init__(self, changes: SensorChanges, read: ReadProposals) -> None:
        self._changes, self._read = changes, read
        self._lock = asyncio.Lock()

    async def all(self) -> list[TemplateProposal]:
        """Return the newest proposal of each sensor and stream, in the order of their keys."""
        async with self._lock:
            return await self._all()

    async def decide(self, proposal_id: str, state: Literal["accepted", "rejected"], who: Caller) -> TemplateProposal:
        """Accept or reject for `who`; the same decision again changes nothing."""
        async with self._lock:
            proposal = next((each for each in await self._all() if each.id == proposal_id), None)
            if proposal is None:
                raise Problem(404, f"no proposal {proposal_id!r}: a newer one for its sensor may have replaced it")
            if proposal.state == state:
                return proposal
            if proposal.state != "open":
                raise Problem(409, f"proposal {proposal_id!r} was {proposal.state} before")
            decided = msgspec.structs.replace(proposal, state=state, decided_at_us=self._changes.clock_us())
            if state == "accepted":
                because = f"proposal {proposal.id}"
                edit = partial(self._with_template, proposal)
                await self._changes.one.make(proposal.sensor, edit, ANY_VERSION, who, because)
            if not await self._changes.publisher.publish_record(PROPOSALS, decided.key, decided.to_record()):
                raise try_again(f"{self._changes.publisher.log_name} did not acknowledge the decision: try again")
            before, after = msgspec.to_builtins(proposal), msgspec.to_builtins(decided)
            await asyncio.to_thread(self._changes.audit.note, who, f"template.{state}", proposal.id, before, after)
            return decided

    async def _all(self) -> list[TemplateProposal]:
        try:
            return await asyncio.to_thread(self._read)
        except (LogError, OSError, RuntimeError):
            raise try_again(
                f"{self._changes.publisher.log_name} does not answer, so the proposals cannot be read"
            ) from None

    def _with_template(self, proposal: TemplateProposal, sensor: Sensor | None) -> Sensor:
        if sensor is None:
            raise Problem(409, f"no sensor {proposal.sensor!r} is registered: declare it first")
        declared = self._changes.registry.streams.get(proposal.stream)
        if declared is None:
            raise Problem(409, f"stream {proposal.stream!r} is not declared")
        try:
            refuse_unfit_template(proposal.histogram, declared, "template")
        except Refused as refused:
            raise Problem(409, refused.detail) from None
        own = None if sensor.clock is None else proposal.own_on(sensor.clock)
        return sensor.with_template(proposal.stream, proposal.histogram, own)


def proposals_router(proposals: Proposals) -> APIRouter:
    """Return the routes that show and decide proposals."""
    router = APIRouter(prefix="/v1/template-proposals", tags=["sensors"])

    @router.get("", summary="List learnt templates")
    async def list_proposals(wanted: Annotated[ProposalFilters, Query()]) -> ProposalPage:
        """Return learnt templates that wait for a decision, or were decided, by sensor and stream."""
        admitted = {each.key.decode(): each for each in await proposals.all() if wanted.admits(each)}
        page, more = page_of_names(sorted(admitted), wanted, wanted.chosen)
        return ProposalPage(items=[_body(admitted[key]) for key in page], next_cursor=more)

    @router.post("/{proposal_id}/accept", summary="Accept a learnt template", responses=DECIDED)
    async def accept(proposal_id: Id, who: Author) -> ProposalBody:
        """Give the template to its sensor: from now on its detections get it."""
        return _body(await proposals.decide(proposal_id, "accepted", who))

    @router.post("/{proposal_id}/reject", summary="Reject a learnt template", responses=DECIDED)
    async def reject(proposal_id: Id, who: Author) -> ProposalBody:
        """Leave the sensor as it is."""
        return _body(await proposals.decide(proposal_id, "rejected", who))

    return router


def _body(proposal: TemplateProposal) -> ProposalBody:
    fields = msgspec.to_builtins(proposal)
    return ProposalBody(**fields.pop("template"), **{name: value for name, value in fields.items() if name != "v"})
