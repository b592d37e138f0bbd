import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from coincide.wire.rebuild_record import RebuildRecord
from services.alerting.store.query_rows import read_status
from services.common.log.records import Record
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import TOPICS, record

CONTRACT = Path("docs/contracts/rebuild.schema.json")


def faults(value: bytes) -> list[str]:
    """Return what the contract finds in a record's value."""
    validator = Draft202012Validator(json.loads(CONTRACT.read_text(encoding="utf-8")))
    return [fault.message for fault in validator.iter_errors(json.loads(value))]


def told(id_: str, state: str, **fields: Any) -> Record:
    """Return what fusion writes."""
    rebuild = {"v": 1, "id": id_, "state": state, "by": "ann", "why": "drill", "asked_at_us": 5}
    rebuild |= {"began_at_us": None, "told_at_us": None, "records": 0, "read": 0, "ends": {}, "failure": None, **fields}
    return record(TOPICS.status, rebuild, key=f"rebuild/{id_}".encode())


def test_one_is_asked_for_and_shows_how_far_it_is_until_it_is_done(api: Api) -> None:
    answer = api.client.post("/v1/rebuilds", json={"why": "drill"})
    asked = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (202, f"/v1/rebuilds/{asked['id']}")
    assert (asked["state"], asked["percent"], asked["seconds_left"], asked["by"]) == ("asked", 0, None, "anybody")
    [written] = [each for each in api.kafka.topic if each.topic == TOPICS.status]
    assert (written.key, faults(written.value or b"")) == (f"rebuild/{asked['id']}".encode(), [])
    [change] = api.records.changes
    assert (change["action"], change["subject"], change["why"]) == ("rebuild.asked", asked["id"], "drill")
    assert api.client.get(answer.headers["Location"]).json() == asked

    refused = api.client.post("/v1/rebuilds", json={"why": "again"})
    assert refused.status_code == 409
    assert refused.json()["detail"] == f"the rebuild {asked['id']} is asked: wait until it is done"
    began = {"began_at_us": 10_000_000, "records": 1000}
    for at_s, read, percent, left_s in ((10, 0, 0, None), (14, 250, 25, 12), (20, 1000, 99.9, 0)):
        api.store(told(asked["id"], "running", told_at_us=at_s * 1_000_000, read=read, **began))
        shown = api.client.get(answer.headers["Location"]).json()
        assert (shown["state"], shown["percent"], shown["seconds_left"]) == ("running", percent, left_s)
    assert api.client.post("/v1/rebuilds", json={"why": "again"}).status_code == 409
    api.store(told(asked["id"], "done", told_at_us=21_000_000, read=1000, **began))
    shown = api.client.get(answer.headers["Location"]).json()
    assert (shown["state"], shown["percent"], shown["seconds_left"]) == ("done", 100, 0)
    assert (shown["began_at_us"], shown["ended_at_us"]) == (10_000_000, 21_000_000)
    assert api.client.post("/v1/rebuilds", json={"why": "again"}).status_code == 202


def test_one_that_failed_says_why_and_gives_way_to_another(api: Api) -> None:
    id_ = "b-" + 32 * "1"
    began = {"began_at_us": 10_000_000, "records": 1000, "read": 400}
    failed = told(id_, "failed", told_at_us=14_000_000, failure="the checkpoint is damaged", **began)
    assert faults(failed.value or b"") == []
    api.store(failed)
    shown = api.client.get(f"/v1/rebuilds/{id_}").json()
    assert (shown["state"], shown["percent"], shown["seconds_left"]) == ("failed", 40, None)
    assert shown["failure"] == "the checkpoint is damaged"
    assert api.client.post("/v1/rebuilds", json={"why": "again"}).status_code == 202


def test_the_newest_is_first_and_what_is_forgotten_is_gone(api: Api) -> None:
    api.store(told("b-old", "done"), told("b-own", "running", asked_at_us=None, began_at_us=9, by=None, why=None))
    assert [each["id"] for each in api.items("/v1/rebuilds")] == ["b-own", "b-old"]
    assert api.database.read(read_status) == []  # they are no shards
    api.store(record(TOPICS.status, None, key=b"rebuild/b-old"))
    assert [each["id"] for each in api.items("/v1/rebuilds")] == ["b-own"]
    assert api.client.get("/v1/rebuilds/b-old").status_code == 404


def test_what_fusion_writes_is_read(api: Api) -> None:
    id_ = "b-" + 32 * "0"
    rebuild = RebuildRecord(id=id_, state="running", began_at_us=1, told_at_us=2, records=4, read=1, ends={"0": 4})
    value = json.dumps({name: getattr(rebuild, name) for name in rebuild.__struct_fields__}).encode()
    assert faults(value) == []
    api.store(Record(TOPICS.status, 0, 0, 1, rebuild.key, value))
    assert api.client.get(f"/v1/rebuilds/{id_}").json()["percent"] == 25


@pytest.mark.parametrize("body", [{}, {"why": ""}, {"why": "x" * 501}, {"why": 7}, {"why": "drill", "more": 1}])
def test_a_reason_is_needed_and_nothing_else(api: Api, body: dict[str, Any]) -> None:
    assert api.client.post("/v1/rebuilds", json=body).status_code == 422
    assert api.kafka.topic == []


def test_one_that_nobody_knows_is_not_found(api: Api) -> None:
    assert api.client.get("/v1/rebuilds/b-1").status_code == 404
