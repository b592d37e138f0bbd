"""GET /v1/template-proposals and their accept and reject: a template changes only when somebody says so."""

import asyncio
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query
from kafka.errors import KafkaError
from pydantic import BaseModel, Field

from services.common.instants import Clock
from services.common.problem import Problem
from services.common.template_proposals import State, TemplateProposal
from services.ingest.kafka.publisher import KafkaPublisher
from services.ingest.registry.proposals_topic import PROPOSALS, ReadProposals
from services.ingest.registry.sensors import NAME_CHARACTERS, Sensor, refuse_unfit_template
from services.ingest.registry.sensors_topic import SENSORS
from services.ingest.registry.snapshot import Registry
from services.ingest.stamping.verdicts import Refused


class ProposalBody(BaseModel):
    """A template that was learnt for a sensor on a stream, and what became of it."""

    id: str
    sensor: str
    stream: str
    edges_s: list[float] = Field(description="bucket bounds in seconds, one more than there are buckets")
    mass: list[float] = Field(description="probability of each bucket, summing to 1")
    errors: int = Field(description="errors it was learnt from")
    pool: str = Field(description="whose errors: own, or of all of the same model or stream")
    wrong_share: float = Field(description="estimated share of wrong associations among them")
    distance: float | None = Field(description="of the P-P plot from its diagonal, on later errors")
    score: float | None = Field(description="mean logarithm of the density at later errors")
    present_score: float | None = Field(description="the same with the template of that time")
    proposed_at_us: int
    state: State
    decided_at_us: int | None


class ProposalPage(BaseModel):
    """A page of proposals by sensor and stream."""

    proposals: list[ProposalBody]
    next: str | None = Field(description="pass it as `after` to get the next page; null on the last one")


SHOWN_WITHIN_S, LOOK_EVERY_S = 5.0, 0.02
Id = Annotated[str, Path(max_length=NAME_CHARACTERS)]
DECIDED: dict[int | str, dict[str, Any]] = {
    404: {"description": "No such proposal"},
    409: {"description": "Decided otherwise, or it does not fit"},
}


class Proposals:
    """Reads and decides proposals, one request at a time; `read` blocks and runs in a thread."""

    def __init__(self, registry: Registry, publisher: KafkaPublisher, read: ReadProposals, clock_us: Clock) -> None:
        self._registry, self._publisher, self._read, self._clock_us = registry, publisher, read, clock_us
        self._lock = asyncio.Lock()

    async def all(self) -> list[TemplateProposal]:
        """Return the newest proposal of each sensor and stream."""
        async with self._lock:
            return await self._all()

    async def decide(self, proposal_id: str, state: Literal["accepted", "rejected"]) -> TemplateProposal:
        """Accept or reject; the same decision again changes nothing."""
        async with self._lock:
            proposal = next((each for each in await self._all() if each.id == proposal_id), None)
            if proposal is None:
                raise Problem(404, f"no proposal {proposal_id!r}: a newer one for its sensor may have replaced it")
            if proposal.state == state:
                return proposal
            if proposal.state != "open":
                raise Problem(409, f"proposal {proposal_id!r} was {proposal.state} before")
            decided = msgspec.structs.replace(proposal, state=state, decided_at_us=self._clock_us())
            if state == "accepted":
                sensor = self._with_template(proposal)
                await self._write(SENSORS, sensor.id.encode(), sensor.to_record())
                await self._shown(proposal)
            await self._write(PROPOSALS, decided.key, decided.to_record())
            return decided

    async def _all(self) -> list[TemplateProposal]:
        try:
            return await asyncio.to_thread(self._read)
        except (KafkaError, OSError, RuntimeError):
            raise Problem(503, "Kafka does not answer, so the proposals cannot be read", {"Retry-After": "1"}) from None

    def _with_template(self, proposal: TemplateProposal) -> Sensor:
        stamps = self._registry.snapshot.stamps.get(proposal.sensor)
        if stamps is None or not self._registry.caught_up:
            raise Problem(409, f"no sensor {proposal.sensor!r} is registered: declare it first")
        declared = self._registry.streams.get(proposal.stream)
        if declared is None:
            raise Problem(409, f"stream {proposal.stream!r} is not declared")
        try:
            refuse_unfit_template(proposal.histogram, declared, "template")
        except Refused as refused:
            raise Problem(409, refused.detail) from None
        streams = {stamp.stream: stamp.template.histogram for stamp in stamps}
        templates = MappingProxyType({**streams, proposal.stream: proposal.histogram})
        return Sensor(proposal.sensor, stamps[0].area, templates)

    async def _shown(self, proposal: TemplateProposal) -> None:
        """Wait until the registry has what was written: what is accepted next builds on it."""
        template_id = proposal.histogram.id
        for _ in range(round(SHOWN_WITHIN_S / LOOK_EVERY_S)):
            stamps = self._registry.snapshot.stamps.get(proposal.sensor, ())
            if any(stamp.stream == proposal.stream and stamp.template.id == template_id for stamp in stamps):
                return
            await asyncio.sleep(LOOK_EVERY_S)
        raise Problem(503, "the template was written, but not read back: accept it again", {"Retry-After": "1"})

    async def _write(self, topic: str, key: bytes, value: bytes) -> None:
        if not await self._publisher.publish_record(topic, key, value):
            raise Problem(503, "Kafka did not acknowledge the decision: try again", {"Retry-After": "1"})


def proposals_router(proposals: Proposals) -> APIRouter:
    """Return the routes that show and decide proposals."""
    router = APIRouter(prefix="/v1/template-proposals", tags=["sensors"])

    @router.get("", summary="List learnt templates")
    async def list_proposals(
        state: Annotated[State | None, Query(description="only proposals in this state")] = None,
        limit: Annotated[int, Query(ge=1, le=1000, description="most proposals on the page")] = 100,
        after: Annotated[str, Query(max_length=NAME_CHARACTERS, description="the `next` of the page before")] = "",
    ) -> ProposalPage:
        """Return learnt templates that wait for a decision, or were decided."""
        found = await proposals.all()
        start = next((at + 1 for at, each in enumerate(found) if each.id == after), 0)
        rest = [each for each in found[start:] if state in {None, each.state}]
        more = rest[limit - 1].id if len(rest) > limit else None
        return ProposalPage(proposals=[_body(each) for each in rest[:limit]], next=more)

    @router.post("/{proposal_id}/accept", summary="Accept a learnt template", responses=DECIDED)
    async def accept(proposal_id: Id) -> ProposalBody:
        """Give the template to its sensor: from now on its detections get it."""
        return _body(await proposals.decide(proposal_id, "accepted"))

    @router.post("/{proposal_id}/reject", summary="Reject a learnt template", responses=DECIDED)
    async def reject(proposal_id: Id) -> ProposalBody:
        """Leave the sensor as it is."""
        return _body(await proposals.decide(proposal_id, "rejected"))

    return router


def _body(proposal: TemplateProposal) -> ProposalBody:
    fields = msgspec.structs.asdict(proposal)
    template = fields.pop("template")
    return ProposalBody(edges_s=template.edges_s, mass=template.mass, **{n: v for n, v in fields.items() if n != "v"})
