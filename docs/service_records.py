"""The contracts of what the services write beside results: keys, the audit trail, and what people say of alerts."""

from typing import Any

from coincide.wire.contracts import Contract, ContractOfKinds
from services.alerting.alerts.controls import AcknowledgementRecord, Silence
from services.alerting.records.receiver import ReceiverRecord
from services.alerting.store.delivery_rows import DeliveryRecord
from services.common.access.access_keys import AccessKey
from services.common.access.audit import AuditedChange

_CONTROLS = (
    "Silences (key: silence/<id>) and receivers that were set over REST (key: receiver/<id>, which holds secrets: who "
    "reads this topic can sign as Coincide). The topic is compacted, and a null value removes."
)
_DELIVERIES = (
    "Who has heard of which transition of an alert (key: delivery/<receiver>/<key>), and who has taken over which "
    "alert (key: acknowledgement/<alert>). The topic is compacted and forgets what is older than the episodes that can "
    "be read again: so a database made anew tells nobody twice."
)


def service_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas by the short names of their topics."""
    controls = (Contract(Silence), Contract(ReceiverRecord))
    deliveries = (
        Contract(DeliveryRecord, newer=("alert", "change", "revision")),
        Contract(AcknowledgementRecord),
    )
    return {
        "keys": Contract(AccessKey).schema(_title("keys"), []),
        "audit": Contract(AuditedChange, newer=("why",)).schema(_title("audit"), []),
        "alert-controls": ContractOfKinds(_CONTROLS, controls).schema(_title("alert-controls"), []),
        "deliveries": ContractOfKinds(_DELIVERIES, deliveries).schema(_title("deliveries"), []),
    }


def _title(topic: str) -> str:
    return f"Record of coincide.{topic}"
