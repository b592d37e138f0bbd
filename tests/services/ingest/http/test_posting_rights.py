"""A gateway's key posts for its areas and sensors only; what else it posts is refused item by item."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from services.common.access.asgi import Guarded
from services.common.access.guard import Guard
from services.common.access.key_scopes import PostingRights
from services.common.access.origins import Origins
from tests.services.ingest.building import Ingest, detection
from tests.services.kept_records import KeptRecords

WHOLE = {"imb": "accepted", "geo": "accepted", "both": "accepted"}


def post_with(ingest: Ingest, rights: dict[str, list[str]], items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what became of each item that is posted with a key of these rights."""
    records = KeptRecords()
    text = records.make("gateway", ["ingest"], **rights)
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=True)
    client = TestClient(Guarded(ingest.app, guard), base_url="http://localhost")
    answer = client.post("/v1/detections", json=items, headers={"Authorization": f"Bearer {text}"})
    verdicts: list[dict[str, Any]] = answer.json()["detections"]
    return verdicts


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
    items = [detection(sensor="imb"), detection(), detection(sensor="both", stream="seismic")]
    verdicts = post_with(ingest, {"areas": areas, "sensors": sensors}, items)
    became = {item["sensor"]: each["status"] for item, each in zip(items, verdicts, strict=True)}
    assert became == WHOLE | dict.fromkeys(refused, "refused")
    assert {each["field"] for each in verdicts if each["status"] == "refused"} <= {"sensor"}
    assert len(ingest.publisher.dead_letters) == len(refused)
    assert {each["sensor"] for each in ingest.publisher.detections} == WHOLE.keys() - refused


POSTED = [{}, {"stream": "acoustic"}, {"stream": "none"}, {"detected_at": "noon"}, {"uncertainty": {"sigma_s": -1}}]


@pytest.mark.parametrize("more", POSTED)
@pytest.mark.parametrize(("sensors", "reason"), [("*", "unknown_sensor"), ("mic-*", "not_permitted")])
def test_by_a_key_nobody_learns_which_sensors_another_area_has(more: dict[str, Any], sensors: str, reason: str) -> None:
    ingest = Ingest()
    items = [detection(sensor=name, **more) for name in ("both", "nobody")]
    elsewhere, unknown = post_with(ingest, {"areas": ["harbour-*"], "sensors": [sensors]}, items)
    assert {**elsewhere, "index": 1} == {
        name: each.replace("nobody", "both") if isinstance(each, str) else each for name, each in unknown.items()
    }
    assert (elsewhere["reason"], elsewhere["retryable"]) == (reason, reason == "unknown_sensor")
    assert f"areas harbour-* and sensors {sensors}" in elsewhere["allowed"]
    assert "bay" not in str(elsewhere)
    assert ingest.publisher.dead_letters


def test_no_more_verdicts_are_kept_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PostingRights, "MOST_KEPT", 2)
    rights = PostingRights(("a*",), ("*",))
    assert [rights.cover(area, "s") for area in ("a1", "b", "a2", "c") * 2] == [True, False, True, False] * 2
    assert len(rights._kept) == 2
