"""Lists of changes are read from Kafka by a few at once, half of them of one peer: others are told to come again."""

import threading
from concurrent.futures import ThreadPoolExecutor

from fastapi import FastAPI
from fastapi.testclient import TestClient
from kafka import KafkaConsumer

from services.common.access.access_routes import MOST_READING, audit_router
from services.common.http.problem import install_problem_handlers
from services.common.topics.topic_names import TopicNames

OF_ONE = MOST_READING // 2


def test_a_peer_reads_so_many_lists_at_once_and_comes_again_for_the_next() -> None:
    begun, goes_on = threading.Semaphore(0), threading.Event()

    def connect() -> KafkaConsumer:
        begun.release()
        goes_on.wait()
        raise OSError("no Kafka here")

    app = FastAPI()
    app.include_router(audit_router(connect, TopicNames("coincide.")))
    install_problem_handlers(app)
    client = TestClient(app)
    with ThreadPoolExecutor(OF_ONE) as readers:
        answers = [readers.submit(client.get, "/v1/audit") for _ in range(OF_ONE)]
        for _ in answers:
            begun.acquire()
        refused = client.get("/v1/audit")
        goes_on.set()
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert f"{OF_ONE} of {MOST_READING} lists of changes being read are yours" in refused.json()["detail"]
    assert {each.result().status_code for each in answers} == {503}
    assert "the log does not answer" in client.get("/v1/audit").json()["detail"]  # the places are free again
