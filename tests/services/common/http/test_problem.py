from fastapi import APIRouter, FastAPI, HTTPException
from fastapi.testclient import TestClient

from services.common.http.problem import Problem, install_problem_handlers


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
