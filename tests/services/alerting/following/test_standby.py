import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from services.alerting.following.followed_topics import Position
from services.alerting.following.handing_over import HandingOver, Listeners
from services.alerting.following.projection import Progress
from services.alerting.following.standby import Standby
from services.alerting.records.receiver import Receivers
from services.alerting.store.live_rows import StoredRow
from tests.patience import until
from tests.services.alerting.sample_records import (
    NAMES,
    TOPICS,
    Database,
    change_record,
    control_record,
    episode_record,
    match_record,
)


class Heard:
    """What the listeners of a process heard."""

    def __init__(self, database: Database) -> None:
        self.rows: list[StoredRow] = []
        self.reached: dict[str, int] = {}
        self.receivers: dict[str, int] = {}
        self._known = database.receivers
        self.listeners = Listeners(self.rows.extend, self._note)

    def _note(self, topic: str, next_offset: int) -> None:
        self.reached[topic] = next_offset
        self.receivers[topic] = len(self._known.all())


def test_each_row_is_handed_over_once_whichever_process_has_stored_it(database: Database) -> None:
    heard = Heard(database)
    handing_over = HandingOver(database.engine, heard.listeners)
    database.store([match_record(f"m-{n}") for n in range(1200)])  # another process
    handing_over.catch_up()
    handing_over.hand_over(database.store([match_record("m-mine"), episode_record("e-1", 1)]))
    handing_over.catch_up()
    database.store([episode_record("e-1", 2), match_record("m-other")])
    handing_over.catch_up()
    told = [row.sequence for row in heard.rows]
    assert told == sorted(set(told))
    ids = [json.loads(row.body)["id"] for row in heard.rows]
    assert ids[:1200] == [f"m-{n}" for n in range(1200)]
    assert ids[1200:1202] == ["m-mine", "e-1"]
    assert sorted(ids[1202:]) == ["e-1", "m-other"]


def test_a_database_made_anew_is_handed_over_from_its_end_on(database: Database) -> None:
    heard = Heard(database)
    handing_over = HandingOver(database.engine, heard.listeners, upto=2**60)
    handing_over.catch_up()
    database.store([match_record("m-1")])
    handing_over.catch_up()
    assert [json.loads(row.body)["id"] for row in heard.rows] == ["m-1"]


@contextmanager
def watching(database: Database, heard: Heard, progress: Progress, answers: list[bool]) -> Iterator[None]:
    handing_over = HandingOver(database.engine, heard.listeners)
    shared = database.receivers, progress, database.metrics
    standby = Standby(
        database.engine, handing_over, *shared, log_answers=lambda: answers[0], names=NAMES, log_name="Kafka"
    )
    stopping = threading.Event()
    thread = threading.Thread(target=standby.watch, args=(stopping, lambda: False))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def position(topic: str, next_offset: int) -> Position:
    return Position(topic, 0, "id", next_offset)


def test_who_stands_by_says_what_the_database_says(database: Database) -> None:
    heard, progress, answers = Heard(database), Progress(silence_s=60.0), [False]
    with watching(database, heard, progress, answers):
        until(lambda: progress.not_ready_because() == ["Kafka cannot be used: it does not answer"])
        answers[0] = True
        until(lambda: progress.not_ready_because() == ["the queries are still being read from Kafka"])
        database.store([change_record("q", 1)], [position(TOPICS.queries, 1), position(TOPICS.matches, 7)])
        until(lambda: progress.not_ready_because() == [])
        assert heard.reached == {"queries": 1}  # nobody waits for matches
        database.raising.receivers = Receivers([])  # those of the process that writes
        body = {"v": 1, "receiver": {"webhook": {"url": "https://example.com/", "secret": "whsec_" + "c2VjcmV0" * 4}}}
        database.store([control_record("receiver/pager", body)], [position(TOPICS.alert_controls, 5)])
        until(lambda: heard.reached.get("alert-controls") == 5)
        assert heard.receivers["alert-controls"] == 1  # in force here, too, before whoever has put it is answered
