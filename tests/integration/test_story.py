"""One story on a real Kafka: processes are killed while every kind of answer is under way, and no answer changes.

The tests run in order and share the processes: what is killed, what each act says of it, a broker that hangs and dies,
and what fusion does when it is told to stop, or loses its checkpoint.
"""

import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Protocol

import psutil
import pytest

from deploy.local.broker import Broker
from spark_jobs.job.restarts import KAFKA_AWAY
from tests.integration.acts.evidence import Evidence
from tests.integration.acts.health import Health
from tests.integration.acts.pairs import Pairs
from tests.integration.acts.slides import Slides
from tests.integration.acts.spells import Spells
from tests.integration.acts.stage import PREFIX, Stage, received_now, running_stage
from tests.integration.acts.streams import Streams
from tests.integration.acts.templates import Templates
from tests.integration.fusion_process import acoustic, seismic
from tests.integration.service_process import IngestProcess
from tests.integration.topics import detections_of
from tests.patience import until

pytestmark = [pytest.mark.jvm, pytest.mark.kills]

START_US = 1_700_000_000_000_000
ACTS = (Pairs, Health, Evidence, Spells, Slides, Streams, Templates)


class Act(Protocol):
    """One kind of answer; `in_vain` is how many detections it posts again, or too late."""

    in_vain: int

    def begin(self) -> None: ...
    def see_begun(self) -> None: ...
    def go_on_without_fusion(self) -> None: ...
    def go_on(self) -> None: ...
    def judge(self) -> None: ...


@pytest.fixture(scope="module")
def stage(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with running_stage(kafka, tmp_path_factory.mktemp("story")) as stage:
        yield stage


@pytest.fixture(scope="module")
def acts(stage: Stage) -> dict[str, Act]:
    """The acts, each posted to its end; fusion, then alerting, ingest and Kafka were killed amid them."""
    acts: dict[str, Act] = {kind.__name__: kind(stage) for kind in ACTS}
    for act in acts.values():
        act.begin()
    for act in acts.values():
        act.see_begun()
    stage.wait(stage.is_told_of_all)
    left = stage.fusion.family()
    stage.fusion.kill()
    for act in acts.values():
        act.go_on_without_fusion()
    for service in (stage.alerting, stage.ingest):
        service.kill()
    stage.broker.kill()
    stage.fusion.start()  # as a process runner does: it has to wait for the old Java process, and for Kafka
    stage.broker.start()
    stage.start_services()
    assert psutil.wait_procs(left, 20)[1] == []  # the job, Java, Python workers
    stage.fusion.wait_ready()
    for act in acts.values():
        act.go_on()
    return acts


@pytest.mark.parametrize("act", [kind.__name__ for kind in ACTS])
def test_no_kill_changes_an_answer(acts: dict[str, Act], act: str) -> None:
    acts[act].judge()


def test_what_came_twice_or_too_late_is_counted_apart(stage: Stage, acts: dict[str, Act]) -> None:
    in_vain = sum(act.in_vain for act in acts.values())

    def counted() -> list[float]:
        return [stage.fusion.metric(f"coincide_fusion_{name}_total") or 0.0 for name in ("duplicates", "late")]

    stage.wait(lambda: sum(counted()) == in_vain, counted)
    stage.wait(lambda: stage.fusion.metric(f'coincide_fusion_lag_records{{topic="{PREFIX}detections"}}') == 0)
    reasons = {each["reason"] for each in stage.fusion.read_all("dead-letters")}
    assert reasons == {"malformed_frame", "late", "no_number", "template_too_long"}


@dataclass
class Gateway:
    """Posts one detection after the other, and remembers what was acknowledged."""

    ingest: IngestProcess
    name: str
    acknowledged: list[str] = field(default_factory=list)
    refused: int = 0

    def post_until(self, ended: threading.Event) -> None:
        number = 0
        while not ended.is_set():
            number += 1
            item = {"sensor": "quay-1", "detected_at": START_US + number, "id": f"{self.name}{number}"}
            answer = self.ingest.post(item)
            if answer.status_code == 202:
                self.acknowledged.append(str(item["id"]))
            else:
                assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
                self.refused += 1


@contextmanager
def posting(stage: Stage) -> Iterator[list[Gateway]]:
    """Have three gateways post while the block runs, from their first acknowledgements on until new ones have come."""
    gateways, ended = [Gateway(stage.ingest, name) for name in "abc"], threading.Event()
    with ThreadPoolExecutor(len(gateways)) as pool:
        posting = [pool.submit(each.post_until, ended) for each in gateways]
        try:
            until(lambda: all(each.acknowledged for each in gateways))
            yield gateways
            before = [len(each.acknowledged) for each in gateways]
            until(lambda: all(len(each.acknowledged) > n for each, n in zip(gateways, before, strict=True)))
        finally:
            ended.set()
    for each in posting:
        each.result()


THRESHOLDS = count(500)


def change_threshold(stage: Stage) -> tuple[int, int]:
    """Change the query of pairs, which the acts leave; return the status, and the version where there is a new one."""
    path, headers = "/v1/queries/intruder/threshold", {"If-Match": "*"}
    answer = stage.alerting.call("PATCH", path, json={"threshold": next(THRESHOLDS) / 1000}, headers=headers)
    return answer.status_code, answer.json().get("version", 0)


def changed_version(stage: Stage) -> int:
    """Change it until the change is taken, as whoever is told to come again does; return the version."""
    answers: list[tuple[int, int]] = []

    def is_taken() -> bool:
        answers.append(change_threshold(stage))
        return answers[-1][0] == 200

    until(is_taken)
    return answers[-1][1]


@pytest.mark.parametrize("away", ["hangs", "is killed"])
def test_all_wait_for_a_broker_that(stage: Stage, acts: dict[str, Act], away: str) -> None:
    """Each says that it cannot work; whoever asks is answered; every 202 is the truth; then the work goes on."""
    if away == "hangs":
        stage.put_sensor("quay-1", "quay", {"noise": {"uniform": [-1, 0]}})
    version = changed_version(stage)
    services = (stage.ingest, stage.alerting)
    with posting(stage) as gateways:
        (stage.broker.suspend if away == "hangs" else stage.broker.kill)()
        assert change_threshold(stage)[0] == 503
        until(lambda: all(each.refused for each in gateways))
        for service in services:
            service.wait_for("/readyz", 503)
            assert service.status_of("/livez") == 200
        stage.wait(lambda: stage.fusion.status_of("/readyz") == 503)
        if away == "is killed":
            stage.wait(lambda: stage.fusion.why_not_ready() == KAFKA_AWAY)
        assert stage.fusion.status_of("/livez") == 200
        (stage.broker.resume if away == "hangs" else stage.broker.start)()
        for service in services:
            service.wait_for("/readyz", 200)
        stage.wait(stage.fusion.is_ready)
    in_kafka = {each["id"] for each in detections_of(stage.broker.bootstrap, PREFIX)}
    assert all(in_kafka.issuperset(each.acknowledged) for each in gateways)
    assert changed_version(stage) > version + (away == "hangs")  # one that was given up is not given again
    first = 50 if away == "hangs" else 60
    pair = [*seismic(range(first, first + 2)), *acoustic(range(first, first + 2))]
    stage.fusion.send("detections", received_now(pair))
    stage.wait(lambda: {f"seismic-{first}", f"seismic-{first + 1}"} <= matched(stage))


def matched(stage: Stage) -> set[str]:
    return {each["members"][0]["id"] for each in stage.written("matches", "intruder")}


def test_told_to_stop_it_stops_in_order(stage: Stage) -> None:
    family = stage.fusion.family()
    assert stage.fusion.stop() == 0
    assert psutil.wait_procs(family, 20)[1] == []
    # Spark's own worker may say that its pipe broke, when Java ends before it.
    assert "/spark_jobs/" not in stage.fusion.tail(20), "a traceback of ours"


def test_a_lost_checkpoint_waits_for_a_person(stage: Stage) -> None:
    shutil.rmtree(stage.fusion.checkpoint)
    stage.fusion.start()
    said = "the checkpoint is gone, yet there are matches: put it back, or rebuild"
    assert stage.fusion.halted() == said
    assert f"halted: {said} ({stage.fusion.checkpoint})" in stage.fusion.tail(3)
    assert stage.fusion.metric('coincide_fusion_halted{reason="checkpoint_lost"}') == 1
    assert stage.fusion.stop() == 0


def test_a_rebuild_gives_the_same_matches_and_without_java_it_ends(stage: Stage) -> None:
    """The process runner starts it again; a Python process alone could do nothing."""
    found = stage.fusion.read_all("matches")
    assert {each["query"] for each in found} == {"intruder", "bang", "one-event", "boom-hill", "boom-vale"}
    before = Counter(each["id"] for each in found)
    again = {each["id"] for each in found if each["query"] != "boom-hill"}  # which was removed
    stage.fusion.start_and_wait("--rebuild")

    def times() -> Counter[str]:
        return Counter(each["id"] for each in stage.fusion.read_all("matches"))

    stage.wait(lambda: all(many > before[id_] for id_, many in times().items() if id_ in again))
    assert times().keys() == before.keys()
    [java] = [member for member in stage.fusion.family() if member.name() == "java"]
    java.kill()
    assert stage.fusion.wait() == 1
    assert "fusion: Spark's Java process or its cluster is gone" in stage.fusion.tail(3)
