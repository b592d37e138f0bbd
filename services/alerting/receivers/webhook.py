"""Webhooks: each transition is posted as a CloudEvent, signed as Standard Webhooks has it."""

import time
from datetime import UTC, datetime
from typing import Any

import msgspec
from standardwebhooks import Webhook

from services.alerting.receivers.connections import MakePoster
from services.alerting.records.receiver import WebhookWay
from services.alerting.store.delivery_rows import Waiting
from services.common.clock import in_rfc_3339

SOURCE = "/coincide/alerting"
TYPE = "coincide.alert."
MEDIA_TYPE = "application/cloudevents+json"


def cloud_event(waiting: Waiting) -> dict[str, Any]:
    """Return a transition as a CloudEvent 1.0; its id is the same whenever it is sent."""
    return {
        "specversion": "1.0",
        "id": waiting.key,
        "source": SOURCE,
        "type": TYPE + waiting.change,
        "subject": waiting.alert.id,
        "time": in_rfc_3339(waiting.at_us),
        "datacontenttype": "application/json",
        "data": waiting.alert,
    }


class WebhookSender:
    """Tells one webhook."""

    def __init__(self, way: WebhookWay, make_poster: MakePoster) -> None:
        self._way, self._poster = way, make_poster(way.timeout_s)
        self._signer = None if way.secret is None else Webhook(way.secret)

    def send(self, waiting: Waiting) -> None:
        """Post one transition; a `DeliveryError` where it was not taken."""
        body = msgspec.json.encode(cloud_event(waiting))
        self._poster.post(self._way.url, body, {"Content-Type": MEDIA_TYPE, **self._signed(waiting.key, body)})

    def _signed(self, key: str, body: bytes) -> dict[str, str]:
        now_s = int(time.time())
        headers = {"webhook-id": key, "webhook-timestamp": str(now_s)}
        if self._signer is not None:
            at = datetime.fromtimestamp(now_s, tz=UTC)
            headers["webhook-signature"] = self._signer.sign(key, at, body.decode())
        return headers

    def close(self) -> None:
        """Close every connection."""
        self._poster.close()
