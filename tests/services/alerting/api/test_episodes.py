import json
from typing import Any

from services.common.log.records import Record
from tests.services.alerting.clients import Api
from tests.services.alerting.sample_records import (
    EVENT,
    TOPICS,
    change_record,
    episode,
    episode_record,
    evidence_record,
    match_record,
    query,
    record,
    retraction,
    shown,
)


def ids(api: Api, **filters: str) -> list[str]:
    return [item["id"] for item in api.items("/v1/episodes", **filters)]


def test_an_episode_is_served_as_it_is_now_with_all_that_was_said_of_it(api: Api) -> None:
    said: dict[str, Any] = {
        "value": 101.5,
        "window": {"start_us": 0, "end_us": 9, "new": 1},
        "best_probability": None,
        "group": {},
    }
    now = episode("e-1", 2, "final", **said, new=[{"a": None}])
    stored = api.store(episode_record("e-1", 1), match_record("m-1"))
    stored += api.store(record(TOPICS.episodes, json.dumps(now, indent=1).encode()))
    assert api.client.get("/v1/episodes/e-1").json() == shown(now)
    page = api.client.get("/v1/episodes").json()
    assert page == {"items": [shown(now)], "next_cursor": None, "last_event_id": str(stored[-1].sequence)}
    assert api.client.get("/v1/matches").json()["last_event_id"] == str(stored[-1].sequence)


def test_a_retracted_episode_says_what_took_its_place(api: Api) -> None:
    api.store(episode_record("e-1", 1), episode_record("e-2", 1))
    api.store(episode_record("e-2", 3), episode_record("e-1", 3, "retracted", by=["e-2"]))
    gone = shown(retraction("e-1", 3, by=["e-2"]))
    assert api.client.get("/v1/episodes/e-1").json() == gone
    assert ids(api) == ids(api, retracted="false") == ["e-2"]
    assert api.items("/v1/episodes", retracted="true") == [gone]
    assert ids(api, retracted="any") == ["e-2", "e-1"]
    assert ids(api, retracted="any", to="2026-01-01T00:00:00Z") == ["e-2"]


def test_filters(api: Api) -> None:
    at_us = 541_064_135_000_000  # 1987-02-23T07:35:35Z
    span: dict[str, Any] = {"start_us": at_us, "end_us": at_us + 2_000_000}
    api.store(
        episode_record("e-1", query="burst", area="sky", best_probability=0.9, **span),
        episode_record("e-2", 1, "closed", best_probability=None),
        episode_record("e-3", 1, "final"),
    )

    assert ids(api, query="burst") == ids(api, area="sky") == ["e-1"]
    assert ids(api, min_probability="0.5") == ["e-3", "e-1"]
    assert [ids(api, state=name) for name in ("open", "closed", "final")] == [["e-1"], ["e-2"], ["e-3"]]
    assert ids(api, **{"from": "1987-02-23T07:35:37Z"}) == ["e-1"]
    assert ids(api, **{"from": "1987-02-23T07:35:37.000001Z"}) == []
    assert ids(api, to="1987-02-23T16:35:35+09:00") == ["e-3", "e-2", "e-1"]
    assert ids(api, to=str(at_us - 1)) == ["e-3", "e-2"]


POSTERIORS = {"e-0": 0.5, "e-1": 0.95, "e-2": None, "e-3": 0.95, "e-4": 0.0}


def sure_episode(id_: str, posterior: float | None) -> list[Record]:
    """An episode of one match, and what was told of it."""
    place: dict[str, Any] = {"query": "intruder", "area": "bay"}
    sensors = f"{id_}-a", f"{id_}-b"
    seen = [{"sensor": each, "id": f"h-{each}"} for each in sensors]
    members = [{**each, "stream": "noise", "detected_at_us": 150, "attributes": {}} for each in seen]
    belongs = [] if posterior is None else [{**each, "belongs": posterior} for each in seen]
    return [
        match_record(f"m-{id_}", sensors=sensors, **place),
        episode_record(id_, 1, members=members, **place),
        evidence_record(f"m-{id_}", posterior, members=belongs, **place),
    ]


def test_the_surest_are_listed_first_page_by_page_and_only_what_is_sure_enough(api: Api) -> None:
    api.store(change_record("intruder", 3, query={**query(), "coalesce": {"gap_s": 1}, "event": EVENT}))
    for id_, posterior in POSTERIORS.items():
        api.store(*sure_episode(id_, posterior))
    assert ids(api, limit="9") == ["e-4", "e-3", "e-2", "e-1", "e-0"]
    assert ids(api, order="posterior", limit="9") == ["e-3", "e-1", "e-0", "e-4"]
    assert ids(api, min_posterior="0.5") == ["e-3", "e-1", "e-0"]
    assert ids(api, min_posterior="0.9", order="posterior", query="intruder") == ["e-3", "e-1"]
    assert ids(api, min_posterior="0.96") == []
    read = []
    for items in api.pages("/v1/episodes", limit="2", order="posterior"):
        read += [item["id"] for item in items]
        api.store(*sure_episode(f"new-{len(read)}", 0.7))
    assert read == ["e-3", "e-1", "e-0", "e-4"]
    assert ids(api, order="posterior", limit="9")[:4] == ["e-3", "e-1", "new-4", "new-2"]


def test_pages_hold_everything_once_although_episodes_come_and_change(api: Api) -> None:
    api.store(*[episode_record(f"e-{n}") for n in range(10)])
    read: list[tuple[str, int]] = []
    for items in api.pages("/v1/episodes", limit="3"):
        read += [(item["id"], item["revision"]) for item in items]
        changed = [episode_record(f"e-{n}", len(read)) for n in (0, 5, 9)]
        api.store(*changed, episode_record(f"new-{len(read)}"))
    assert [id_ for id_, _ in read] == [f"e-{n}" for n in reversed(range(10))]
    assert dict(read)["e-0"] == 9  # as it is now, not as it was when the first page was read


def test_revisions_newest_first_with_when_each_was_stored(api: Api) -> None:
    for revision, state in enumerate(("open", "open", "closed", "final", "retracted")):
        api.store(episode_record("e-1", revision, state), episode_record("e-2", revision))
    first = api.client.get("/v1/episodes/e-1/revisions").json()
    cursor = {"cursor": first["next_cursor"]}
    rest = api.client.get("/v1/episodes/e-1/revisions", params=cursor).json()
    assert rest["next_cursor"] is None
    every = first["items"] + rest["items"]
    assert len(first["items"]) == 3  # page_items
    stored_at_us = [item.pop("stored_at_us") for item in every]
    assert stored_at_us == sorted(stored_at_us, reverse=True)
    assert every[0] == retraction("e-1", 4)
    assert every[1:] == [episode("e-1", n, s) for n, s in ((3, "final"), (2, "closed"), (1, "open"), (0, "open"))]
    other = api.client.get("/v1/episodes/e-2/revisions", params=cursor)
    assert other.status_code == 422  # a cursor belongs to its episode


def test_what_is_not_there(api: Api) -> None:
    for path in ("/v1/episodes/e-1", "/v1/episodes/e-1/revisions"):
        missing = api.client.get(path)
        assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")
        assert "'e-1'" in missing.json()["detail"]
    assert api.client.get("/v1/episodes").json()["items"] == []
