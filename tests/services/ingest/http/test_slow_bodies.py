"""Bodies that do not end, a thousand of one peer: they are no work, and keep no other gateway out."""

import json

import pytest

from services.common.access.access_keys import KeyRing
from services.common.access.asgi import Guarded
from services.common.access.guard import Guard
from services.common.access.origins import Origins
from services.ingest.http.request_limits import IngestHttpProtocol
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import Ingest, detection
from tests.services.slow_bodies import SLOW_BODIES, holding, post_of_another, serving

PATH = "/v1/detections"
BODY = json.dumps(detection()).encode()
MOST_OPEN = 150


@pytest.mark.anyio
async def test_a_thousand_slow_bodies_of_one_peer_keep_no_other_out() -> None:
    # Less work at a time than one peer has open, and so much patience that no body is given up while the test runs.
    ingest = Ingest(IngestSettings(max_concurrent_posts=5, body_timeout_s=300))
    refused: list[str] = []
    guard = Guard(Origins("127.0.0.1"), KeyRing(), needs_key=False, on_refused=refused.append)
    options = {"http": IngestHttpProtocol, "limit_concurrency": ingest.settings.max_connections}
    with serving(Guarded(ingest.app, guard, MOST_OPEN), **options) as port:
        async with holding(port, PATH, BODY, admitted=MOST_OPEN) as held:
            assert ingest.metric("coincide_ingest_posts_arriving") == MOST_OPEN
            assert ingest.metric("coincide_ingest_posts_in_work") == 0
            answer = await post_of_another(port, PATH, BODY)
            assert (answer.status_code, answer.json()["accepted"]) == (202, 1)
            assert ingest.metric("coincide_ingest_posts_arriving") == MOST_OPEN  # all of them were there meanwhile
            assert len(held.answers) == len(refused) == SLOW_BODIES - MOST_OPEN
            assert all(each.startswith(b"HTTP/1.1 429 ") for each in held.answers)
            assert all(b"(max_open_per_peer)" in each and b"retry-after: 1\r\n" in each for each in held.answers)
            assert set(refused) == {"open_requests"}


def test_more_posts_than_may_be_in_work_are_refused_and_the_limit_is_named() -> None:
    ingest = Ingest(IngestSettings(max_concurrent_posts=1))
    answers = []

    async def publish(*_: object) -> list[bool]:
        answers.append(ingest.post_items(detection()))  # another POST while this one is in work
        return [True]

    ingest.publisher.publish = publish  # type: ignore[method-assign,assignment]
    assert ingest.post_items(detection()).status_code == 202
    [answer] = answers
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "1 POSTs are in work (max_concurrent_posts)" in answer.json()["detail"]
    assert ingest.post_items(detection()).status_code == 202  # room is given back
