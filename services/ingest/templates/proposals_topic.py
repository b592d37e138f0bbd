"""coincide.template-proposals, read whole whenever somebody asks: people ask seldom, so nothing has to follow it."""

import logging
from collections.abc import Callable

from coincide.wire.declarations.template_proposal import PROPOSALS, ProposalError, TemplateProposal, proposal_in
from services.common.log.records import Record
from services.common.topics.compacted_topic import Connect, read_whole
from services.common.topics.topic_names import TopicNames

log = logging.getLogger(__name__)

ReadProposals = Callable[[], list[TemplateProposal]]


def read_proposals(connect: Connect, names: TopicNames) -> list[TemplateProposal]:
    """Return the newest proposal of each sensor and stream, in the order of their keys; it may raise `LogError`."""
    newest: dict[bytes, TemplateProposal | None] = {}
    for records in read_whole(connect, names.full(PROPOSALS)):
        for record in records:
            newest[record.key or b""] = _proposal(record)
    return sorted(filter(None, newest.values()), key=lambda each: each.key)


def _proposal(record: Record) -> TemplateProposal | None:
    if record.value is None:
        return None
    try:
        return proposal_in(record.value)
    except ProposalError as error:
        log.error("record %d of %s is unusable: %s", record.offset, record.topic, error)  # noqa: TRY400 - no traceback
        return None
