"""Prometheus Alertmanager: what fires is posted, and posted again; what is resolved gets its end."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from services.alerting.receivers.connections import MakePoster
from services.alerting.records.alert import Alert
from services.alerting.records.receiver import AlertmanagerWay
from services.alerting.store.delivery_rows import Waiting
from services.common.clock import in_rfc_3339, system_clock_us

PATH = "/api/v2/alerts"
AT_ONCE = 200
#: So many pauses between two posts an alert outlives the last of them, as Prometheus has it.
OUTLIVES = 4


def posted(alert: Alert, ends_at_us: int) -> dict[str, Any]:
    """Return an alert as Alertmanager takes it. Its labels are what tells it from all others, the severity among them.

    So an alert whose severity has risen is another one there.
    """
    name = alert.source if alert.is_of_system else alert.query or alert.source
    notes = {"summary": alert.title, "description": alert.text, "runbook_url": alert.docs}
    probability = None if alert.probability is None else f"{alert.probability:.4g}"
    posterior = None if alert.posterior is None else f"{alert.posterior:.4g}"
    figures = {
        "probability": probability,
        "posterior": posterior,
        "members": None if alert.members is None else str(alert.members),
    }
    said = {**notes, **figures}
    return {
        "labels": {"alertname": name, "alert": alert.id, **{k: v for k, v in alert.every_label.items() if v}},
        "annotations": {key: value for key, value in said.items() if value},
        "startsAt": in_rfc_3339(alert.fired_at_us),
        "endsAt": in_rfc_3339(ends_at_us),
    }


class AlertmanagerSender:
    """Tells one Alertmanager, and ends there what an alert was before its severity changed.

    After a restart it no longer knows what that was; then it ends by itself, for it is not posted again.
    """

    def __init__(self, way: AlertmanagerWay, make_poster: MakePoster) -> None:
        self._poster, self.repost_s = make_poster(way.timeout_s), way.repost_s
        self._severities: dict[str, str] = {}  # as posted last, by alert
        self._url = way.url.rstrip("/") + PATH

    def send(self, waiting: Waiting) -> None:
        """Post one transition; a `DeliveryError` where it was not taken."""
        self._post([waiting.alert])

    def repost(self, alerts: Sequence[Alert]) -> None:
        """Post all that fires again, so that an Alertmanager that was restarted or has lost some knows of it."""
        for first in range(0, len(alerts), AT_ONCE):
            self._post(alerts[first : first + AT_ONCE])
        self._severities = {each.id: each.severity for each in alerts}

    def _post(self, alerts: Sequence[Alert]) -> None:
        now_us = system_clock_us()
        lives_until_us = now_us + round(OUTLIVES * self.repost_s * 1e6)
        body = [posted(each, each.resolved_at_us or lives_until_us) for each in alerts]
        body += [posted(each, now_us) for each in self._former(alerts)]
        self._poster.post(self._url, msgspec.json.encode(body), {"Content-Type": "application/json"})
        self._severities.update({each.id: each.severity for each in alerts})

    def _former(self, alerts: Sequence[Alert]) -> list[Alert]:
        known = [(each, self._severities.get(each.id, each.severity)) for each in alerts]
        return [replace(each, severity=severity) for each, severity in known if severity != each.severity]

    def close(self) -> None:
        """Close every connection."""
        self._poster.close()
