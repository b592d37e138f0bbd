"""The contracts of topics: of each the record, what holds beyond its fields, and whether it has those alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from coincide.wire.declarations.clock_record import ClockRecord
from coincide.wire.declarations.query_record import QUERY_RULES, QueryRecord
from coincide.wire.declarations.sensor_record import SensorRecord, TemplateRecord
from coincide.wire.declarations.stream_records import STREAM_RULES, StreamRecord
from coincide.wire.declarations.template_proposal import TemplateProposal
from coincide.wire.detection_record import FrameRecord, HeartbeatRecord, Stamp
from coincide.wire.json_schema import record_schema
from coincide.wire.results.dead_letter import DEAD_LETTER_RULES, DeadLetter
from coincide.wire.results.episode_record import EPISODE_RULES, EpisodeRecord
from coincide.wire.results.evidence_record import EVIDENCE_RULES, EvidenceRecord
from coincide.wire.results.match_record import MATCH_RULES, MatchRecord
from coincide.wire.sensor_health import HealthRecord
from coincide.wire.shard_records import ActivationRecord, DeferralRecord
from coincide.wire.status_record import StatusRecord

SCHEMA = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Contract:
    """What the records of a topic are; closed, they have no fields but the declared. Older ones lack `newer`."""

    record: type[Struct]
    rules: Mapping[str, Any] = field(default_factory=dict)
    is_closed: bool = True
    newer: tuple[str, ...] = ()

    def schema(self, title: str, examples: list[Any]) -> dict[str, Any]:
        """Return the JSON Schema of such a record."""
        own = self.of_record()
        return {"$schema": SCHEMA, "title": title, **own, **({"examples": examples} if examples else {})}

    def of_record(self) -> dict[str, Any]:
        """Return it without what a document says of itself."""
        own = record_schema(self.record, self.rules, is_closed=self.is_closed)
        return {**own, "required": [name for name in own["required"] if name not in self.newer]}


@dataclass(frozen=True)
class ContractOfKinds:
    """What the records of a topic are that holds several kinds."""

    description: str
    kinds: tuple[Contract, ...]
    further: tuple[type[Struct], ...] = ()  # to which rules of the kinds refer

    def schema(self, title: str, examples: list[Any]) -> dict[str, Any]:
        """Return the JSON Schema of such a record: that of one kind."""
        schemas: dict[str, Any] = {}
        for each in (*self.kinds, *map(Contract, self.further)):
            own = each.of_record()
            schemas |= own.pop("$defs", {})
            schemas[each.record.__name__] = own
        one_of = [{"$ref": f"#/$defs/{each.record.__name__}"} for each in self.kinds]
        head = {"$schema": SCHEMA, "title": title, "description": self.description, "oneOf": one_of}
        return {**head, "$defs": schemas, **({"examples": examples} if examples else {})}


#: By the short name of the topic.
CONTRACTS: dict[str, Contract | ContractOfKinds] = {
    "detections": ContractOfKinds(
        "A frame: detections of one POST that share an area, in columns, with every template they are stamped with. "
        "Key: the area. Or a heartbeat: a record without area and detections. No key.",
        (Contract(FrameRecord), Contract(HeartbeatRecord)),
        (Stamp,),
    ),
    "queries": ContractOfKinds(
        "A version of a query or of a stream, or its removal. Key: the query id, or stream/ and the name of the "
        "stream. The topic is compacted and is the truth; versions are never reused. Streams stand here, because a "
        "stream and the queries that read it need one order.",
        (Contract(QueryRecord, QUERY_RULES), Contract(StreamRecord, STREAM_RULES)),
    ),
    "matches": Contract(MatchRecord, MATCH_RULES),
    "episodes": Contract(EpisodeRecord, EPISODE_RULES, is_closed=False),
    "evidence": Contract(EvidenceRecord, EVIDENCE_RULES),
    "dead-letters": Contract(DeadLetter, DEAD_LETTER_RULES),
    "sensor-health": Contract(HealthRecord),
    "sensors": Contract(SensorRecord),
    "templates": Contract(TemplateRecord),
    "clocks": Contract(ClockRecord),
    "template-proposals": Contract(TemplateProposal),
    "activations": Contract(ActivationRecord),
    "deferrals": Contract(DeferralRecord),
    "status": Contract(StatusRecord),
}
