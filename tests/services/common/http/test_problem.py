import pytest
from fastapi import APIRouter, Depends, FastAPI, HTTPException
from fastapi.testclient import TestClient
from pydantic import BaseModel

from services.common.http.problem import Problem, install_problem_handlers
from services.common.http.query_contract import QueryId
from services.common.http.strict_json import BodyError, parse_json
from services.common.http.strict_requests import StrictRequests


class Named(BaseModel):
    name: str


def client() -> TestClient:
    app = FastAPI()
    install_problem_handlers(app)

    @app.get("/busy")
    def busy() -> None:
        raise Problem(503, "Kafka is away.", {"Retry-After": "2"}, items=[1])

    @app.get("/teapot")
    def teapot() -> None:
        raise HTTPException(418, "short and stout")

    @app.get("/numbers/{number}")
    def number(number: int) -> int:
        return number

    @app.get("/queries/{id}")
    def query(id: QueryId) -> str:  # noqa: A002 - the path's name for it
        return id

    @app.post("/named", dependencies=[Depends(StrictRequests())])
    def named(thing: Named) -> str:
        return thing.name

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("the password is hunter2")

    return TestClient(app, raise_server_exceptions=False)


def test_problem_carries_detail_headers_and_extensions() -> None:
    answer = client().get("/busy")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "2"
    document = {"type": "about:blank", "title": "Service Unavailable", "status": 503, "detail": "Kafka is away."}
    assert answer.json() == {**document, "items": [1]}


def test_framework_errors_are_problems_too() -> None:
    assert client().get("/teapot").json()["detail"] == "short and stout"
    assert client().get("/nowhere").json()["status"] == 404


def test_invalid_parameter_names_field_value_and_rule() -> None:
    answer = client().get("/numbers/ten")
    assert answer.status_code == 422
    assert "path.number" in answer.json()["detail"]
    assert "'ten'" in answer.json()["detail"]


@pytest.mark.parametrize("body", [b'{"name": ', b'{"name": 1}]', b"\xff", b"[" * 60_000, b"1" * 5_000, b"[NaN]"])
def test_a_body_that_fastapi_reads_is_refused_as_any_other(body: bytes) -> None:
    with pytest.raises(BodyError) as fault:
        parse_json(body)
    answer = client().post("/named", content=body, headers={"Content-Type": "application/json"})
    said = answer.json()
    assert (answer.status_code, said["detail"], said["allowed"]) == (422, str(fault.value), "JSON as RFC 8259 has it")


def test_the_id_of_a_query_is_refused_in_words() -> None:
    answer = client().get("/queries/-a")
    allowed = "1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit"
    assert (answer.status_code, answer.json()["detail"]) == (422, f"path.id is '-a': {allowed}")
    assert client().get(f"/queries/{'q' * 101}").status_code == 422
    assert client().get(f"/queries/{'q' * 100}").json() == "q" * 100


def test_a_crash_leaks_nothing() -> None:
    answer = client().get("/broken")
    assert answer.status_code == 500
    assert "hunter2" not in answer.text


def test_405_lists_every_method_of_the_path_whichever_router_it_comes_from() -> None:
    app, router = FastAPI(), APIRouter(prefix="/things")
    install_problem_handlers(app)

    @router.get("/{id}")
    def read() -> None: ...

    @router.delete("/{id}")
    def remove() -> None: ...

    @app.put("/things/{id}")
    def put() -> None: ...

    app.include_router(router)
    answer = TestClient(app).post("/things/7")
    assert (answer.status_code, answer.headers["allow"]) == (405, "DELETE, GET, PUT")
