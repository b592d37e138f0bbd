"""A gateway's key posts for its areas and sensors only; what else it posts is refused item by item."""

import pytest
from fastapi.testclient import TestClient

from services.common.access.access_keys import KEYS
from services.common.access.asgi import Guarded
from services.common.access.guard import Guard
from services.common.access.key_scopes import PostingRights
from services.common.access.origins import Origins
from tests.services.ingest.building import Ingest, detection
from tests.services.kept_records import KeptRecords

WHOLE = {"imb": "accepted", "geo": "accepted", "both": "accepted"}


def post_with(ingest: Ingest, areas: list[str], sensors: list[str]) -> dict[str, str]:
    """Return what became of a detection of each sensor; `both` posts its seismic stream."""
    records = KeptRecords()
    text = records.make("gateway", ["ingest"], areas=areas, sensors=sensors)
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=True)
    client = TestClient(Guarded(ingest.app, guard), base_url="http://localhost")
    items = [detection(sensor="imb"), detection(), detection(sensor="both", stream="seismic")]
    answer = client.post("/v1/detections", json=items, headers={"Authorization": f"Bearer {text}"})
    return {item["sensor"]: each["status"] for item, each in zip(items, answer.json()["detections"], strict=True)}


@pytest.mark.parametrize(
    ("areas", "sensors", "refused"),
    [
        (["*"], ["*"], set()),
        (["bay"], ["*"], {"imb"}),
        (["b?y", "sn1987a"], ["*"], set()),
        (["*"], ["g*", "imb"], {"both"}),
        (["bay"], ["imb"], {"imb", "geo", "both"}),
        (["BAY"], ["*"], {"imb", "geo", "both"}),
    ],
)
def test_a_key_posts_for_its_areas_and_sensors(areas: list[str], sensors: list[str], refused: set[str]) -> None:
    ingest = Ingest()
    assert post_with(ingest, areas, sensors) == WHOLE | dict.fromkeys(refused, "refused")
    assert ingest.metric("coincide_ingest_detections_refused_total", reason="not_permitted") == len(refused)
    assert len(ingest.publisher.dead_letters) == len(refused)
    assert {each["sensor"] for each in ingest.publisher.detections} == WHOLE.keys() - refused


def test_the_verdict_says_what_the_key_may() -> None:
    ingest = Ingest()
    records = KeptRecords()
    text = records.make("gateway", ["ingest"], areas=["harbour-*"])
    client = TestClient(
        Guarded(ingest.app, Guard(Origins("127.0.0.1"), records.ring, needs_key=True)), base_url="http://localhost"
    )
    answer = client.post("/v1/detections", json=detection(), headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 422
    [verdict] = answer.json()["detections"]
    assert verdict["reason"] == "not_permitted"
    assert not verdict["retryable"]
    assert "areas harbour-* and sensors *; this sensor's area is bay" in verdict["detail"]
    assert records.topics[KEYS]


def test_no_more_verdicts_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PostingRights, "MOST_KEPT", 2)
    rights = PostingRights(("a*",), ("*",))
    assert [rights.cover(area, "s") for area in ("a1", "b", "a2", "c") * 2] == [True, False, True, False] * 2
    assert len(rights._kept) == 2
