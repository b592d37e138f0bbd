"""A demo on a system that has had one: nothing is posted twice, as it would be late by now."""

from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from services.demo import programme
from services.demo.sn1987a import DETECTORS, posts


def posted_by_demo(monkeypatch: pytest.MonkeyPatch, *matches: tuple[str, ...]) -> list[bytes]:
    """Return what the demo posts on a system that serves matches between these detectors."""
    posted: list[bytes] = []

    def alerting(request: httpx2.Request) -> httpx2.Response:
        assert dict(request.url.params) == {"query": "sn1987a", "limit": "1000", "superseded": "any"}
        items = [{"members": [{"sensor": each, "id": each} for each in match]} for match in matches]
        return httpx2.Response(200, json={"items": items, "next_cursor": None})

    def ingest(request: httpx2.Request) -> httpx2.Response:
        posted.append(request.content)
        return httpx2.Response(202, json={})

    def client(answer: Any) -> httpx2.Client:
        return httpx2.Client(transport=httpx2.MockTransport(answer), base_url="http://system")

    def stop(*_: object) -> None:
        raise StopIteration

    system: Any = SimpleNamespace(alerting=client(alerting), ingest=client(ingest))
    monkeypatch.setattr(programme, "applied_query", lambda *_: None)
    monkeypatch.setattr(programme, "expected_matches", stop)  # all is posted by then
    with pytest.raises(StopIteration):
        programme.show_1987(system)
    return posted


def test_the_first_demo_posts_what_each_detector_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sorted(posted_by_demo(monkeypatch)) == sorted(posts().values())


def test_a_second_demo_posts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = DETECTORS
    assert posted_by_demo(monkeypatch, (first, second), (second, third)) == []


def test_what_an_interrupted_demo_did_not_post_is_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = DETECTORS
    assert posted_by_demo(monkeypatch, (first, second)) == [posts()[third]]
