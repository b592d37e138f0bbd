"""Proposing templates: records that wait on a topic until somebody accepts or rejects them."""

from collections.abc import Sequence

from coincide.wire.declarations.template_proposal import PROPOSALS, TemplateProposal
from services.common.engine.fusion_settings import SessionSettings
from services.common.kafka.clients import close_producer, create_producer
from services.common.kafka.log_faults import telling

ACKNOWLEDGED_WITHIN_S = 15.0


def propose(settings: SessionSettings, proposals: Sequence[TemplateProposal]) -> None:
    """Write proposals; a `LogError` says that not all may have arrived."""
    with telling():
        producer = create_producer(settings.kafka)
        try:
            sent = [producer.send(settings.topic(PROPOSALS), each.to_record(), each.key) for each in proposals]
            for future in sent:
                future.get(ACKNOWLEDGED_WITHIN_S)
        finally:
            close_producer(producer, ACKNOWLEDGED_WITHIN_S)
