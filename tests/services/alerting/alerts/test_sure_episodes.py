"""What evidence says of episodes, whichever comes first, and the alerts that wait for it."""

import itertools
import json
from typing import Any

import pytest
from sqlalchemy import Engine

from services.alerting.records.receiver import Receiver, Receivers, WebhookWay
from services.alerting.store.episode_rows import EpisodeFilter, read_after, read_newest_first
from services.alerting.store.episode_sureness import read_surest_first
from services.alerting.store.expiry import Expiry
from services.common.log.records import Record
from tests.services.alerting.sample_records import (
    EVENT,
    RECEIVED_AT_MS,
    ROOM,
    Database,
    change_record,
    episode_record,
    evidence_record,
    match_record,
    query,
)

OPS = Receiver(id="ops", webhook=WebhookWay(url="http://127.0.0.1:9/"))
BETWEEN: dict[str, Any] = {"query": "intruder", "area": "bay"}
#: The members of the matches: m-1 has the first two, m-2 the last two, m-3 one that the episode does not have.
MEMBERS = {"m-1": "ab", "m-2": "bc", "m-3": "cd"}
NEWEST_MS = RECEIVED_AT_MS + 5_000


@pytest.fixture(autouse=True)
def _ops(database: Database) -> None:
    database.raising.receivers = database.receivers = Receivers([OPS])


def of_query(**rule: Any) -> Record:
    document = {**query(), "coalesce": {"gap_s": 1}, "event": EVENT}
    return change_record("intruder", 3, query={**document, **({"alert": rule} if rule else {})})


def a_match(id_: str, **fields: Any) -> Record:
    return match_record(id_, sensors=tuple(MEMBERS[id_]), **BETWEEN, **fields)


def said_of(id_: str, posterior: float | None, at_ms: int = RECEIVED_AT_MS, **fields: Any) -> Record:
    belongs = [] if posterior is None else [
        {"sensor": sensor, "id": f"h-{sensor}", "belongs": posterior} for sensor in MEMBERS[id_]
    ]  # fmt: skip
    return evidence_record(id_, posterior, at_ms, **{**BETWEEN, "members": belongs, **fields})


def an_episode(revision: int = 1, sensors: str = "abc", **fields: Any) -> Record:
    of_each = {"stream": "noise", "detected_at_us": 150, "attributes": {}}
    members = [{"sensor": sensor, "id": f"h-{sensor}", **of_each} for sensor in sensors]
    return episode_record("e-1", revision, members=members, **fields)


def known(database: Database) -> dict[str, Any] | None:
    """What the episode says of its evidence, which is the same however one asks."""
    [listed] = database.read(read_newest_first, EpisodeFilter(), None, 9)
    [followed] = database.read(read_after, EpisodeFilter(), 0, 9)
    told: dict[str, Any] | None = json.loads(listed.body)["evidence"]
    assert json.loads(followed.evidence) == told
    surest = database.read(read_surest_first, EpisodeFilter(), None, 9)
    assert [(each.posterior, each.body) for each in surest] == (
        [] if told is None else [(told["posterior"], listed.body)]
    )
    return told


RECORDS = [a_match("m-1"), a_match("m-2"), said_of("m-1", 0.75), said_of("m-2", 0.25), an_episode()]


@pytest.mark.parametrize("first", list(itertools.permutations(range(3))))
def test_an_episode_has_the_posterior_of_its_surest_match_and_says_who_belongs(
    database: Database, first: tuple[int, ...]
) -> None:
    """Matches, evidence and the episode in any order, a poll each."""
    polls = [RECORDS[:2], RECORDS[2:4], RECORDS[4:]]
    database.store([of_query()])
    for place in first:
        database.store(polls[place])
    assert known(database) == {
        "match": "m-1",
        "posterior": 0.75,
        "posterior_least": 0.75,
        "posterior_greatest": 0.75,
        "members": [
            {"sensor": "a", "id": "h-a", "belongs": 0.75},
            {"sensor": "b", "id": "h-b", "belongs": 0.75},
            {"sensor": "c", "id": "h-c", "belongs": 0.25},
        ],
    }


def test_what_is_stored_with_its_evidence_is_streamed_with_it(database: Database) -> None:
    database.store([of_query(), *RECORDS[:4]])
    [streamed] = database.store([RECORDS[4]])
    assert json.loads(getattr(streamed, "evidence", "null"))["match"] == "m-1"


@pytest.mark.parametrize(
    "other",
    [
        said_of("m-3", 1.0),  # a member that the episode does not have
        said_of("m-1", None),
        said_of("m-1", 1.0, query="another"),
        said_of("m-1", 1.0, area="ridge"),
    ],
    ids=["a stranger", "not known", "another query", "another area"],
)
def test_evidence_of_other_matches_is_none_of_an_episode(database: Database, other: Record) -> None:
    another = change_record("another", 1, query={**query("another"), "coalesce": {"gap_s": 1}, "event": EVENT})
    database.store([of_query(), another, a_match("m-1"), a_match("m-3"), an_episode(), other])
    assert known(database) is None


def test_the_same_ids_at_another_time_are_other_detections(database: Database) -> None:
    database.store(
        [of_query(), a_match("m-1", earliest_us=10_000, latest_us=20_000), said_of("m-1", 1.0), an_episode()]
    )
    assert known(database) is None


def test_evidence_of_a_match_that_was_superseded_or_never_came_does_not_count(database: Database) -> None:
    larger = match_record("m-9", sensors=tuple("abc"), supersedes=["m-1"], **BETWEEN)
    database.store([of_query(), a_match("m-1"), said_of("m-1", 1.0), said_of("m-2", 1.0), an_episode(), larger])
    assert known(database) is None


def test_members_that_a_revision_no_longer_lists_are_forgotten(database: Database) -> None:
    database.store([of_query(), *RECORDS])
    database.store([an_episode(2, "bc")])
    assert (known(database) or {})["match"] == "m-2"
    database.store([an_episode(3, state="retracted")])
    assert known(database) is None


def test_what_an_episode_and_evidence_are_about_goes_with_them(database: Database) -> None:
    database.store([of_query(), *RECORDS])
    assert (database.rows("evidence_members"), database.rows("episode_members")) == (4, 3)
    expiry = Expiry(database.engine, database.metrics, (0.0, 0.0), ROOM, chunk_rows=1, every_s=60.0)
    while expiry.is_due():
        expiry.run_if_due()
    assert [database.rows(each) for each in ("evidence", "evidence_members", "episode_members")] == [0, 0, 0]


def test_queries_without_event_keep_no_members(database: Database) -> None:
    database.store([change_record("intruder", 3, query={**query(), "coalesce": {"gap_s": 1}}), *RECORDS])
    assert (database.rows("evidence_members"), database.rows("episode_members")) == (0, 0)
    assert known(database) is None


def test_an_alert_of_an_episode_waits_until_a_match_of_it_is_sure(database: Database) -> None:
    database.store([of_query(min_posterior=0.7), a_match("m-1"), a_match("m-2"), an_episode(), said_of("m-2", 0.25)])
    assert database.alerts() == []
    database.store([said_of("m-1", 0.75, NEWEST_MS)])
    [alert] = database.alerts()
    assert (alert["source"], alert["text"], alert["posterior"]) == ("e-1", "One event, 75.0 %.", 0.75)
    assert (alert["fired_at_us"], alert["sure_at_us"]) == (NEWEST_MS * 1000, NEWEST_MS * 1000)
    database.store([an_episode(2), an_episode(3, state="final")])
    assert database.history(alert["id"]) == ["firing"]
    assert len(database.outbox()) == 1


def test_a_database_made_anew_tells_nobody_again_of_an_episode(database: Database, another_engine: Engine) -> None:
    """Evidence has found the episode at its first revision; when all is read again, its last one is there before."""
    grown = an_episode(7, received_at_us=(NEWEST_MS + 9_000) * 1000)
    told = [said_of("m-1", 0.75, NEWEST_MS), said_of("m-2", 0.99, NEWEST_MS + 1_000)]
    for each in (of_query(min_posterior=0.7), a_match("m-1"), a_match("m-2"), an_episode(), *told, grown):
        database.store([each])
    [first] = database.alerts()
    anew = Database(another_engine)
    anew.receivers = anew.raising.receivers = Receivers([OPS])
    anew.store([of_query(min_posterior=0.7), *database.delivered("ops")])
    for each in (an_episode(), grown, a_match("m-1"), a_match("m-2"), *told):
        anew.store([each])
    [again] = anew.alerts()
    assert (again["id"], again["posterior"]) == (first["id"], first["posterior"])
    assert anew.outbox() == []
