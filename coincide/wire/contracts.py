"""The contracts of topics: of each the record, what holds beyond its fields, and whether it has those alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from coincide.wire.dead_letter import DEAD_LETTER_RULES, DeadLetter
from coincide.wire.episode_record import EPISODE_RULES, EpisodeRecord
from coincide.wire.json_schema import record_schema
from coincide.wire.match_record import MATCH_RULES, MatchRecord
from coincide.wire.sensor_health import HealthRecord
from coincide.wire.sensor_record import SensorRecord, TemplateRecord
from coincide.wire.shard_records import ActivationRecord, DeferralRecord
from coincide.wire.status_record import StatusRecord
from coincide.wire.template_proposal import TemplateProposal


@dataclass(frozen=True)
class Contract:
    """What the records of a topic are; closed, they have no fields but the declared."""

    record: type[Struct]
    rules: Mapping[str, Any] = field(default_factory=dict)
    is_closed: bool = True

    def schema(self, title: str, examples: list[Any]) -> dict[str, Any]:
        """Return the JSON Schema of such a record."""
        head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
        own = record_schema(self.record, self.rules, is_closed=self.is_closed)
        return {**head, **own, **({"examples": examples} if examples else {})}


#: By the short name of the topic.
CONTRACTS = {
    "matches": Contract(MatchRecord, MATCH_RULES),
    "episodes": Contract(EpisodeRecord, EPISODE_RULES, is_closed=False),
    "dead-letters": Contract(DeadLetter, DEAD_LETTER_RULES),
    "sensor-health": Contract(HealthRecord),
    "sensors": Contract(SensorRecord),
    "templates": Contract(TemplateRecord),
    "template-proposals": Contract(TemplateProposal),
    "activations": Contract(ActivationRecord),
    "deferrals": Contract(DeferralRecord),
    "status": Contract(StatusRecord),
}
