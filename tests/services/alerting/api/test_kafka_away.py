"""While Kafka is known to be away every change is refused at once: nobody asks Kafka, so that nobody waits for it."""

import json
from typing import Any

import pytest

from services.alerting.following.projection import no_answer
from services.common.clock import system_clock_us
from tests.integration.webhook_sink import SECRET
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import change_record, episode_record, query, ruled, silence

SILENCE = {"matchers": {"area": "b*"}, "until": system_clock_us() + 86_400_000_000, "by": "ann", "why": "drill"}
RECEIVER = {"webhook": {"url": "https://example.org/hook", "secret": SECRET}}
NO_ANSWER = no_answer("Kafka")
CHANGES = [
    ("PUT", "/v1/queries/new", query("new")),
    ("PUT", "/v1/queries/steady", query("steady", 0.7)),
    ("PATCH", "/v1/queries/steady", {"alert": None}),
    ("PATCH", "/v1/queries/steady/threshold", {"threshold": 0.7}),
    ("POST", "/v1/queries/steady/pause", None),
    ("POST", "/v1/queries/steady/resume", None),
    ("DELETE", "/v1/queries/steady", None),
    ("POST", "/v1/silences", SILENCE),
    ("PUT", "/v1/silences/new", SILENCE),
    ("PATCH", "/v1/silences/s-1", {"why": "wind"}),
    ("DELETE", "/v1/silences/s-1", None),
    ("PUT", "/v1/receivers/ops", RECEIVER),
    ("PATCH", "/v1/receivers/ops", {"system": False}),
    ("DELETE", "/v1/receivers/ops", None),
    ("POST", "/v1/rebuilds", {"why": "drill"}),
    ("POST", "/v1/alerts/{alert}/acknowledge", {"by": "ann"}),
]


@pytest.mark.parametrize(("method", "path", "document"), CHANGES)
def test_a_change_is_refused_before_kafka_is_asked(
    api: Api, monkeypatch: pytest.MonkeyPatch, method: str, path: str, document: Any
) -> None:
    api.store(change_record("steady", 1), ruled(), episode_record("e-1"), silence("s-1", area="far"))
    [alert] = api.items("/v1/alerts")
    monkeypatch.setattr(api.kafka, "publish", lambda *_: pytest.fail("Kafka was asked"))
    api.progress.failed(NO_ANSWER)
    api.progress._silence_s = 0.0
    headers = {"If-Match": "*"} if path.startswith("/v1/queries/steady") else {}
    content = None if document is None else json.dumps(document)
    place = path.format(alert=alert["id"])
    answer = api.client.request(method, place, content=content, headers={"Content-Type": "application/json", **headers})
    assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1")
    assert NO_ANSWER in answer.json()["detail"]
    assert api.client.get("/v1/matches").status_code == 200  # what is stored can be read
