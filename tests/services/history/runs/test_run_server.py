"""Runs over HTTP: asked twice they are done once, they can be cancelled, and a restart loses none."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import psutil
import pytest
from prometheus_client import CollectorRegistry

from coincide.wire.declarations.template_proposal import TemplateProposal
from services.common.access.component_access import ComponentAccess
from services.common.kafka.connection import KafkaConnection
from services.common.program.asgi_server import ServerThread
from services.history.archiving.folders import Archive
from services.history.archiving.layout import DAY_US
from services.history.replaying.request import AnyRequest, RunRequest
from services.history.replaying.run_folder import Reporter
from services.history.runs import run_queue
from services.history.runs.run_queue import Kept, RunQueue
from services.history.runs.run_server import create_app
from services.history.runs.run_service import run_service
from spark_jobs.history import history_queue, topics_of
from spark_jobs.settings import HistorySettings
from tests.patience import keep_priority, until
from tests.services.history.replaying.test_answers import STREAMS
from tests.services.history.runs.test_run import RULED
from tests.services.history.runs.test_run import archive as archive  # noqa: PLC0414 - a fixture
from tests.services.kept_records import KeptRecords
from tests.test_contracts import faults

ASKED = {"query": RULED, "from": 0, "to": "1970-01-01T00:01:01Z", "min_threshold": 0.2}


@pytest.fixture
def settings(archive: Archive) -> HistorySettings:
    return kept_beside(archive.path)


def kept_beside(archive: Path) -> HistorySettings:
    runs, kafka = archive.parent / "runs", KafkaConnection(servers="127.0.0.1:1")
    return HistorySettings(archive_path=archive, runs_path=runs, runs_kept=2, kafka=kafka, processes=1)


@pytest.fixture
def proposed() -> list[TemplateProposal]:
    """What runs that learn propose."""
    return []


@pytest.fixture
def records() -> KeptRecords:
    """Who changed what."""
    return KeptRecords()


@pytest.fixture
def client(
    settings: HistorySettings, proposed: list[TemplateProposal], records: KeptRecords
) -> Iterator[httpx2.Client]:
    with served(settings, proposed, records) as client:
        yield client


class Quiet(NamedTuple):
    """A server for all tests of a module whose requests are refused, and so change nothing."""

    client: httpx2.Client
    records: KeptRecords


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quiet]:
    records, archive = KeptRecords(), Archive.opened(tmp_path_factory.mktemp("quiet") / "archive", 3)
    with served(kept_beside(archive.path), [], records) as client:
        yield Quiet(client, records)


@contextmanager
def served(
    settings: HistorySettings, proposed: list[TemplateProposal], records: KeptRecords
) -> Iterator[httpx2.Client]:
    queue = history_queue(settings, STREAMS, proposed.extend, keep_priority)
    access = ComponentAccess("history", settings, CollectorRegistry(), publisher=records)
    app = create_app(run_service(queue, topics_of(settings), settings.archive_path), access.audit)
    server = ServerThread(app, settings.model_copy(update={"port": 0}), access)
    queue.start()
    server.start()
    with httpx2.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        yield client
    server.stop()
    queue.stop(10)


def done(client: httpx2.Client, run: str) -> dict[str, Any]:
    def ended() -> bool:
        return client.get(f"/v1/history-runs/{run}").json()["state"] not in {"queued", "running"}

    until(ended, 60, of=[psutil.Process()])
    said: dict[str, Any] = client.get(f"/v1/history-runs/{run}").json()
    return said


def test_a_run_is_asked_for_read_and_deleted(client: httpx2.Client) -> None:
    asked = client.post("/v1/history-runs", json=ASKED)
    assert asked.status_code == 202
    run = asked.json()["run"]
    said = done(client, run)
    assert (said["state"], faults("history-run", said), faults("history-run", asked.json())) == ("done", [], [])
    again = client.post("/v1/history-runs", json=ASKED)
    assert (again.status_code, again.json()) == (200, said)
    matches = client.get(f"/v1/history-runs/{run}/matches")
    assert matches.headers["content-type"] == "application/x-ndjson"
    assert len(matches.text.splitlines()) == said["matches"] > 20
    assert client.get(f"/v1/history-runs/{run}/curve").json()["curve"] == said["curve"]
    other = done(client, client.post("/v1/history-runs", json={**ASKED, "to": 30_000_000}).json()["run"])
    compared = client.get(f"/v1/history-runs/{other['run']}/compare", params={"with": run}).json()
    assert compared["counts"]["gone"] == said["matches"] - other["matches"] > 0
    assert [each["run"] for each in client.get("/v1/history-runs").json()["items"]] == [other["run"], run]
    assert client.delete(f"/v1/history-runs/{run}").status_code == 204
    assert client.get(f"/v1/history-runs/{run}").status_code == 404


def test_time_slides_are_counted_where_they_are_asked_for(client: httpx2.Client) -> None:
    asked = client.post("/v1/history-runs", json={**ASKED, "slides": 3, "keeps_matches": False})
    said = done(client, asked.json()["run"])
    assert (said["state"], faults("history-run", said), said["request"]["slides"]) == ("done", [], 3)
    assert said["slides"] is not None or said["slides_unknown"]  # a minute may be too short for its sensors


def test_the_episodes_of_a_query_over_readings_are_read(client: httpx2.Client) -> None:
    read = {"from": "p", "value": "attributes.db", "where": {"above": 2}, "hold_s": 5}
    asked = {"query": {"id": "loud", "coalesce": read, "lasting_s": 1, "threshold": 0.1}, "from": 0, "to": 61_000_000}
    said = done(client, client.post("/v1/history-runs", json=asked).json()["run"])
    episodes = client.get(f"/v1/history-runs/{said['run']}/episodes").text.splitlines()
    assert said["episodes"] == len(episodes) > 3
    assert [faults("episodes", json.loads(each)) for each in episodes] == [[]] * len(episodes)
    of_pairs = done(client, client.post("/v1/history-runs", json=ASKED).json()["run"])["run"]
    refused = client.get(f"/v1/history-runs/{of_pairs}/episodes")
    assert (refused.status_code, refused.json()["detail"][:22]) == (409, "there are no episodes:")


def test_the_oldest_of_too_many_runs_goes(client: httpx2.Client) -> None:
    runs = [
        done(client, client.post("/v1/history-runs", json={**ASKED, "to": to}).json()["run"])["run"]
        for to in (10, 20, 30)
    ]

    def kept() -> list[str]:
        return [each["run"] for each in client.get("/v1/history-runs").json()["items"]]

    until(lambda: kept() == [runs[2], runs[1]], 60, of=[psutil.Process()])


@pytest.mark.parametrize(
    ("asked", "status", "sentence"),
    [
        ({**ASKED, "colour": "red"}, 422, "colour: unknown"),
        ({"query": RULED, "from": 0}, 422, "to is missing"),
        ({**ASKED, "from": "noon"}, 422, "from: 'noon' is no time"),
        ({**ASKED, "query": {"id": "x"}}, 422, "query: "),
        ({**ASKED, "query": "unheard"}, 503, "Kafka cannot be asked"),
        ({**ASKED, "as_live": "yes"}, 422, "as_live is 'yes': a truth value"),
        ({**ASKED, "min_threshold": True}, 422, "min_threshold is True: a number"),
        ({**ASKED, "slides": 2.5}, 422, "slides is 2.5: a whole number"),
        ({**ASKED, "slides": 1_001}, 422, "slides is 1001: how many time slides, 1 to 1000"),
        ({**ASKED, "source": "disk"}, 422, "one of archive, topic"),
        ([1], 422, "must be a JSON object"),
    ],
)
def test_what_cannot_be_asked_is_a_problem(quiet: Quiet, asked: Any, status: int, sentence: str) -> None:
    answer = quiet.client.post("/v1/history-runs", json=asked)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert sentence in answer.json()["detail"]
    assert quiet.client.get("/v1/history-runs").json() == {"items": []}


def test_runs_are_counted_by_state(client: httpx2.Client) -> None:
    done(client, client.post("/v1/history-runs", json=ASKED).json()["run"])
    told = client.get("/metrics").text
    assert 'coincide_history_runs{state="done"} 1.0' in told
    assert 'coincide_history_runs{state="failed"} 0.0' in told
    assert "process_cpu_seconds_total" in told


def test_a_page_of_another_origin_can_start_nothing(quiet: Quiet) -> None:
    answer = quiet.client.post("/v1/history-runs", content=b"{}", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("length", "status"), [("²", b"400"), ("9" * 5000, b"400"), ("-1", b"400"), ("", b"400"), (None, b"422")]
)
def test_a_length_that_is_no_number_is_answered(quiet: Quiet, length: str | None, status: bytes) -> None:
    said = "" if length is None else f"Content-Length: {length}\r\n"
    head = f"POST /v1/history-runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{said}\r\n"
    with socket.create_connection(("127.0.0.1", quiet.client.base_url.port or 0), 10) as connection:
        connection.sendall(head.encode("latin-1"))
        answer = connection.makefile("rb").read(12)
    assert answer.split()[1] == status


def test_a_body_has_a_bound(quiet: Quiet) -> None:
    answer = quiet.client.post("/v1/history-runs", json={"query": "x" * 70_000})
    assert (answer.status_code, answer.json()["detail"]) == (413, "the body is larger than 65536 bytes")


def test_what_starts_a_run_is_no_get_which_a_link_could_ask(quiet: Quiet) -> None:
    what_if = "/v1/queries/bang/what-if"
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    answer = quiet.client.get(what_if, params={"from": 0, "to": 1}, headers=followed)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert quiet.client.post(what_if, json={"from": 0, "to": 1}).status_code == 503  # no Kafka has the query
    for field in ("query", "keeps_matches", "colour"):
        refused = quiet.client.post(what_if, json={"from": 0, "to": 1, field: RULED})
        assert (refused.status_code, refused.json()["detail"][: len(field)]) == (422, field)
    assert quiet.client.get("/v1/history-runs").json() == {"items": []}


@pytest.mark.parametrize("path", ["/", "/v1/history-runs/../x", f"/v1/history-runs/r-{'0' * 32}", "/v1/history-runs/x"])
def test_what_is_not_there_is_a_404(quiet: Quiet, path: str) -> None:
    assert quiet.client.get(path).status_code == 404
    assert quiet.client.delete(path).status_code == 404


class Stalling:
    """Does a run until it is cancelled or told to go on."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.finished = threading.Event(), threading.Event(), list[str]()

    def __call__(self, request: AnyRequest, reporter: Reporter) -> None:
        self.begun.set()
        while not self.may_end.wait(0.01):
            if reporter.is_cancelled():
                reporter.tell("cancelled")
                return
        reporter.tell("done")
        self.finished.append(request.id)


def requests(settings: HistorySettings, count: int) -> list[RunRequest]:
    service = run_service(
        history_queue(settings, STREAMS, lambda _: None, keep_priority), topics_of(settings), settings.archive_path
    )
    return [service.request_of({**ASKED, "to": 1 + nth}) for nth in range(count)]


def test_runs_that_count_only_go_before_those_that_wait_to_be_written(settings: HistorySettings) -> None:
    stalling = Stalling()
    queue = RunQueue(settings.runs_path, stalling, Kept(9))
    first, second, third = requests(settings, 3)
    counted = replace(third, keeps_matches=False)
    assert queue.submit(first)[0]["ahead"] == 0
    queue.start()
    assert stalling.begun.wait(5)
    said = [queue.submit(request)[0] for request in (second, third, counted)]
    assert [each["ahead"] for each in said] == [1, 2, 1]
    assert [faults("history-run", each) for each in said] == [[], [], []]
    known = {each["run"]: each.get("ahead") for each in queue.summaries()}
    assert known == {first.id: None, counted.id: 1, second.id: 2, third.id: 3}
    stalling.may_end.set()
    until(lambda: len(stalling.finished) == 4, 60, of=[psutil.Process()])
    assert stalling.finished == [first.id, counted.id, second.id, third.id]
    queue.stop(5)


def test_runs_that_are_kept_have_a_bound_in_bytes(settings: HistorySettings) -> None:
    def execute(request: AnyRequest, reporter: Reporter) -> None:
        with reporter.folder.writing("matches.ndjson") as out:
            out.write(bytes(100_000 if request.to_us < 3 else 400_000))
        reporter.tell("done")

    asked = requests(settings, 4)
    queue = RunQueue(settings.runs_path, execute, Kept(9, 450_000))
    queue.start()

    def kept_after(request: RunRequest) -> list[str]:
        queue.submit(request)
        until(lambda: is_done(request) and queue._at_work is None, of=[psutil.Process()])
        return [each["run"] for each in queue.summaries()]

    def is_done(request: RunRequest) -> bool:
        return any(each["run"] == request.id and each["state"] == "done" for each in queue.summaries())

    ids = [each.id for each in asked]
    assert kept_after(asked[0]) == [ids[0]]
    assert kept_after(asked[1]) == [ids[1], ids[0]]
    assert kept_after(asked[2]) == [ids[2]]  # 400 kB and 100 kB are too much
    queue.stop(5)
    too_small = RunQueue(settings.runs_path, execute, Kept(9, 1))
    too_small.start()
    too_small.submit(asked[3])
    until(lambda: [each["run"] for each in too_small.summaries()] == [ids[3]], 60, of=[psutil.Process()])
    too_small.stop(5)


def test_a_run_at_work_is_cancelled_and_one_that_waits_is_dropped(settings: HistorySettings) -> None:
    stalling = Stalling()
    queue = RunQueue(settings.runs_path, stalling, Kept(9))
    queue.start()
    first, second, third = requests(settings, 3)
    for request in (first, second, third):
        assert queue.submit(request)[1]
    assert stalling.begun.wait(5)
    assert queue.delete(second.id)
    assert queue.delete(first.id)
    until(lambda: queue.summary(first.id) is None, 60, of=[psutil.Process()])
    stalling.may_end.set()
    until(lambda: stalling.finished == [third.id], 60, of=[psutil.Process()])
    assert not queue.delete(second.id)
    queue.stop(5)


def test_a_run_that_has_ended_is_gone_once_it_is_deleted(settings: HistorySettings) -> None:
    told, may_return = threading.Event(), threading.Event()

    def execute(_request: AnyRequest, reporter: Reporter) -> None:
        reporter.tell("done")
        told.set()
        may_return.wait(30)

    queue = RunQueue(settings.runs_path, execute, Kept(9))
    queue.start()
    [request] = requests(settings, 1)
    queue.submit(request)
    assert told.wait(30)
    assert queue.delete(request.id)
    assert queue.summary(request.id) is None
    assert queue.submit(request)[1]
    may_return.set()
    until(lambda: (queue.summary(request.id) or {}).get("state") == "done", 60, of=[psutil.Process()])
    queue.stop(5)


class Dying:
    """Does its first run until it was cancelled and may end, and then says so; later ones at once."""

    def __init__(self) -> None:
        self.begun, self.may_end, self.done = threading.Event(), threading.Event(), list[str]()

    def __call__(self, request: AnyRequest, reporter: Reporter) -> None:
        if not self.begun.is_set():
            self.begun.set()
            self.may_end.wait(30)
            assert reporter.is_cancelled()
            reporter.tell("cancelled")
            return
        assert not reporter.is_cancelled()
        self.done.append(request.id)
        reporter.tell("done")


def being_cancelled(settings: HistorySettings) -> tuple[Dying, RunQueue, RunRequest]:
    """Return a queue whose run at work was cancelled, and has not ended yet."""
    dying = Dying()
    queue = RunQueue(settings.runs_path, dying, Kept(9))
    queue.start()
    [request] = requests(settings, 1)
    queue.submit(request)
    assert dying.begun.wait(5)
    assert queue.delete(request.id)
    return dying, queue, request


def test_who_asks_for_a_run_that_is_being_cancelled_gets_a_new_one(settings: HistorySettings) -> None:
    dying, queue, request = being_cancelled(settings)
    said, is_new = queue.submit(request)
    assert (is_new, said["state"], said["ahead"]) == (True, "queued", 1)
    assert not queue.submit(request)[1]  # that one is asked for twice
    queue.folder(request.id).tell({**said, "state": "running"})  # as the one that is cancelled may still say
    assert queue.summary(request.id) == said
    dying.may_end.set()
    until(lambda: dying.done == [request.id], 60, of=[psutil.Process()])
    until(lambda: (queue.summary(request.id) or {}).get("state") == "done", 60, of=[psutil.Process()])
    queue.stop(5)


def test_a_run_goes_with_the_last_who_leaves_it(client: httpx2.Client) -> None:
    first, *others = (client.post("/v1/history-runs", json=ASKED).json()["run"] for _ in range(3))
    assert others == [first, first]
    path = f"/v1/history-runs/{first}"
    for _ in range(2):
        assert client.delete(path, params={"leave": "true"}).status_code == 204
        assert client.get(path).status_code == 200
    assert client.delete(path, params={"leave": "true"}).status_code == 204
    until(lambda: client.get(path).status_code == 404, 60, of=[psutil.Process()])
    assert client.delete(path, params={"leave": "true"}).status_code == 404
    client.post("/v1/history-runs", json=ASKED)
    refused = client.delete(path, params={"leave": "perhaps"})
    assert (refused.status_code, refused.json()["field"]) == (422, "query.leave")
    twice = client.delete(f"{path}?leave=false&leave=true")
    assert (twice.status_code, twice.json()["detail"][:21]) == (422, "leave: stands 2 times")
    assert client.delete(path).status_code == 204


def test_nobody_takes_along_what_was_asked_of_the_process_before(settings: HistorySettings) -> None:
    def execute(_request: AnyRequest, reporter: Reporter) -> None:
        reporter.tell("done", progress=1.0)

    [request] = requests(settings, 1)
    for leaves in (False, True):
        queue = RunQueue(settings.runs_path, execute, Kept(9))
        queue.start()
        if leaves:
            assert queue.leave(request.id) is False  # nobody knows who asked for it
        queue.submit(request)
        until(lambda: (queue.summary(request.id) or {}).get("state") == "done", 60, of=[psutil.Process()])  # noqa: B023
        if leaves:
            assert queue.leave(request.id) is False
            assert queue.leave(request.id) is True
            assert queue.summary(request.id) is None
        assert queue.stop(30)


def test_a_new_one_is_cancelled_as_well_before_the_old_one_has_ended(settings: HistorySettings) -> None:
    dying, queue, request = being_cancelled(settings)
    assert queue.submit(request)[1]
    assert queue.delete(request.id)
    dying.may_end.set()
    until(lambda: queue.summary(request.id) is None, 60, of=[psutil.Process()])
    assert queue.stop(5)
    assert dying.done == []


def test_a_new_one_is_not_lost_where_the_process_ends_meanwhile(settings: HistorySettings) -> None:
    dying, queue, request = being_cancelled(settings)
    assert queue.submit(request)[1]
    assert not queue.stop(0.05)
    dying.may_end.set()
    assert queue.stop(30)
    again = RunQueue(settings.runs_path, dying, Kept(9))
    again.start()
    until(lambda: dying.done == [request.id], 60, of=[psutil.Process()])
    assert again.stop(30)


def test_a_restart_goes_on_with_what_was_not_done(settings: HistorySettings) -> None:
    stalling = Stalling()
    queue = RunQueue(settings.runs_path, stalling, Kept(9))
    queue.start()
    asked = requests(settings, 3)
    for request in asked:
        queue.submit(request)
    assert stalling.begun.wait(5)
    assert queue.stop(5)
    assert stalling.finished == []
    stalling.may_end.set()
    left = queue.folder(asked[0].id).path / ".parts-of-one-that-was-killed"
    left.mkdir()
    again = RunQueue(settings.runs_path, stalling, Kept(9))
    again.start()
    assert not left.exists()
    until(lambda: sorted(stalling.finished) == sorted(each.id for each in asked), 60, of=[psutil.Process()])
    again.stop(5)


def test_a_restart_goes_on_past_a_request_that_it_cannot_read(settings: HistorySettings) -> None:
    asked, stalling = requests(settings, 2), Stalling()
    stalling.may_end.set()
    before, queue = (RunQueue(settings.runs_path, stalling, Kept(9)) for _ in range(2))
    for request in asked:
        before.submit(request)
    folder = queue.folder(asked[0].id)
    written = folder.summary()
    folder.tell({**written, "request": {**written["request"], "warm_up_s": -1}})  # as another version may have taken it
    queue.start()
    until(lambda: stalling.finished == [asked[1].id], 60, of=[psutil.Process()])
    said = folder.summary()
    assert said["state"] == "failed"
    assert said["error"].startswith("the run cannot be begun anew: warm_up_s is for runs as live")
    assert faults("history-run", said) == []
    queue.stop(5)


def test_a_run_that_was_cancelled_is_not_begun_anew_after_a_kill(settings: HistorySettings) -> None:
    begun, may_end, [request] = threading.Event(), threading.Event(), requests(settings, 1)

    def sees_nothing(_request: AnyRequest, _reporter: Reporter) -> None:
        begun.set()
        may_end.wait(30)

    killed = RunQueue(settings.runs_path, sees_nothing, Kept(9))
    killed.start()
    killed.submit(request)
    assert begun.wait(5)
    assert killed.delete(request.id)
    again = RunQueue(settings.runs_path, sees_nothing, Kept(9))
    again.start()
    assert again.summary(request.id) is None
    assert again.stop(30)
    may_end.set()
    assert killed.stop(30)


def test_one_that_stops_says_whether_the_run_at_work_saw_it(settings: HistorySettings) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def sees_nothing(_request: AnyRequest, _reporter: Reporter) -> None:
        begun.set()
        may_end.wait(30)

    queue = RunQueue(settings.runs_path, sees_nothing, Kept(9))
    queue.start()
    queue.submit(requests(settings, 1)[0])
    assert begun.wait(5)
    assert not queue.stop(0.05)
    may_end.set()
    assert queue.stop(30)


@pytest.mark.parametrize(
    ("since_end_s", "to_come", "holds"), [(0, 0, False), (599, 0, False), (601, 0, True), (601, 1, False)]
)
def test_an_answer_of_the_topic_holds_for_a_minute_and_for_good_once_its_range_is_settled(
    settings: HistorySettings, since_end_s: int, to_come: int, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(_request: AnyRequest, reporter: Reporter) -> None:
        reporter.tell("done", progress=1.0, evidence_to_come=to_come)

    queue = RunQueue(settings.runs_path, tell, Kept(9))
    queue.start()
    to_us = time.time_ns() // 1_000 - since_end_s * 1_000_000
    request = replace(requests(settings, 1)[0], from_us=to_us - 1_000_000, to_us=to_us, source="topic")
    assert queue.submit(request)[1]
    until(lambda: (queue.summary(request.id) or {})["state"] == "done", 60, of=[psutil.Process()])
    assert not queue.submit(request)[1]  # who asks until it is done gets it
    monkeypatch.setattr(run_queue, "FRESH_US", 0)
    assert queue.submit(request)[1] is not holds
    assert queue.stop(30)


def test_what_came_into_the_archive_since_is_in_the_next_answer(
    client: httpx2.Client, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range that was over long ago is asked before its detections are in the archive, as after a load of history."""
    monkeypatch.setattr(run_queue, "FRESH_US", 0)
    files = {path: path.read_bytes() for path in archive.files()}
    for path in files:
        path.unlink()
    nothing = done(client, client.post("/v1/history-runs", json=ASKED).json()["run"])
    assert nothing["detections"] == 0
    assert client.post("/v1/history-runs", json=ASKED).json() == nothing
    for path, content in files.items():
        path.write_bytes(content)
    again = client.post("/v1/history-runs", json=ASKED)
    assert (again.status_code, again.json()["run"]) == (202, nothing["run"])
    assert done(client, nothing["run"])["detections"] > 0
    elsewhere = {**ASKED, "from": 2 * DAY_US, "to": 3 * DAY_US}
    of_another_day = done(client, client.post("/v1/history-runs", json=elsewhere).json()["run"])
    assert of_another_day["archive_state"] != done(client, nothing["run"])["archive_state"]


def test_only_so_many_runs_wait(settings: HistorySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_queue, "MOST_WAITING", 2)
    queue = RunQueue(settings.runs_path, Stalling(), Kept(9))
    first, second, third = requests(settings, 3)
    queue.submit(first)
    queue.submit(second)
    with pytest.raises(run_queue.QueueFullError, match="2 runs wait already"):
        queue.submit(third)


def test_one_key_has_half_of_the_runs_that_wait(settings: HistorySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_queue, "MOST_WAITING_OF_ONE", 2)
    stalling = Stalling()
    queue = RunQueue(settings.runs_path, stalling, Kept(9))
    asked = requests(settings, 7)
    for request in asked[:2]:
        assert queue.submit(request, "ann")[1]
    with pytest.raises(run_queue.QueueFullError, match="2 of the runs that wait are of this key"):
        queue.submit(asked[2], "ann")
    assert not queue.submit(asked[0], "ann")[1]  # who asks again is told how far it is
    assert queue.submit(asked[2], "ben")[1]
    assert queue.submit(asked[3])[1]
    queue.delete(asked[0].id)
    assert queue.submit(asked[4], "ann")[1]
    queue.start()
    assert stalling.begun.wait(5)  # what is at work waits no longer
    assert queue.submit(asked[5], "ann")[1]
    with pytest.raises(run_queue.QueueFullError):
        queue.submit(asked[6], "ann")
    stalling.may_end.set()
    queue.stop(5)


def test_a_fault_of_our_own_stands_in_the_summary_and_stops_nobody(settings: HistorySettings) -> None:
    def execute(request: AnyRequest, reporter: Reporter) -> None:
        if request == first:
            raise ZeroDivisionError
        reporter.tell("done")

    first, second = requests(settings, 2)
    queue = RunQueue(settings.runs_path, execute, Kept(9))
    queue.start()
    queue.submit(first)
    queue.submit(second)
    until(lambda: (queue.summary(second.id) or {}).get("state") == "done", 60, of=[psutil.Process()])
    assert (queue.summary(first.id) or {})["state"] == "failed"
    queue.stop(5)
