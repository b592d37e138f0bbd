"""A query is changed amid posts: no detection is judged by an older version than the answer before it has named."""

import time
from typing import Any

from deploy.local.system import System
from tests.on_lines import on_both_whole
from tests.patience import until

AREA = "order"
BELLS = ("bell-one", "bell-other")
CHANGES = 15
APART_US = 10_000_000  # bells of one change match with each other alone
PAIR: dict[str, Any] = {
    "from": {"one": "seismic", "other": "seismic"},
    "within": [{"between": ["one", "other"], "lo_s": -1.0, "hi_s": 1.0, "threshold": 0.5}],
    "areas": [AREA],
}


def change(system: System, version: int) -> None:
    """Create the query, or change its threshold; the answer names this version."""
    if version == 1:
        answer = system.alerting.put("/v1/queries/order", json=PAIR)
    else:
        new, headers = {"threshold": 0.5 + version / 100}, {"If-Match": "*"}
        answer = system.alerting.patch("/v1/queries/order/threshold", json=new, headers=headers)
    assert (answer.json().get("version"), answer.is_success) == (version, True), answer.text


def ring(system: System, number: int, at_us: int) -> None:
    items = [{"sensor": bell, "detected_at": at_us, "id": f"{number} {bell}"} for bell in BELLS]
    assert system.ingest.post("/v1/detections", json=items).json()["accepted"] == len(BELLS)


def matches(system: System) -> list[dict[str, Any]]:
    answer = system.alerting.get("/v1/matches", params={"query": "order", "limit": 1000})
    items: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
    return items


@on_both_whole
def test_an_acknowledged_change_is_never_applied_after_a_later_post(whole: System) -> None:
    """Nobody waits between change and POST, fifteen times over; a later version may overtake a POST, no older one."""
    for bell in BELLS:
        sensor = {"area": AREA, "streams": {"seismic": {"point": True}}}
        assert whole.ingest.put(f"/v1/sensors/{bell}", json=sensor).status_code == 201
    first_us = time.time_ns() // 1_000 - CHANGES * APART_US
    for version in range(1, CHANGES + 1):
        change(whole, version)
        ring(whole, version, first_us + version * APART_US)
    until(lambda: len(matches(whole)) >= CHANGES)
    versions = {int(each["members"][0]["id"].split()[0]): each["query_version"] for each in matches(whole)}
    assert versions.keys() == set(range(1, CHANGES + 1))
    assert all(number <= version <= CHANGES for number, version in versions.items()), versions
