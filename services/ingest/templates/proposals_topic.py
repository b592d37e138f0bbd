"""coincide.template-proposals, read whole whenever somebody asks: people ask seldom, so nothing has to follow it."""

import logging
from collections.abc import Callable

from kafka import KafkaConsumer, TopicPartition

from services.common.compacted_topic import records_so_far
from services.common.template_proposals import TOPIC, ProposalError, TemplateProposal, proposal_in

PROPOSALS = f"coincide.{TOPIC}"
PARTITION = TopicPartition(PROPOSALS, 0)

log = logging.getLogger(__name__)

ReadProposals = Callable[[], list[TemplateProposal]]


def read_proposals(connect: Callable[[], KafkaConsumer]) -> list[TemplateProposal]:
    """Return the newest proposal of each sensor and stream, in the order of their keys; it may raise `KafkaError`."""
    consumer = connect()
    try:
        newest: dict[bytes, TemplateProposal | None] = {}
        for records in records_so_far(consumer, PARTITION):
            for record in records:
                newest[record.key or b""] = _proposal(record.offset, record.value)
        return sorted(filter(None, newest.values()), key=lambda each: each.key)
    finally:
        consumer.close(timeout_ms=1000)


def _proposal(offset: int, value: bytes | None) -> TemplateProposal | None:
    if value is None:
        return None
    try:
        return proposal_in(value)
    except ProposalError as error:
        log.error("record %d of %s is unusable: %s", offset, PROPOSALS, error)  # noqa: TRY400 - no traceback
        return None
