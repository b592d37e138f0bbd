"""A resource that is declared, and no more: its routes do the rest."""

import json
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.testclient import TestClient
from msgspec.structs import astuple
from pydantic import BaseModel

from coincide.wire.last_change import LastChange
from services.common.access.audit import AuditTrail
from services.common.http.problem import Problem, install_problem_handlers
from services.common.http.strict_requests import json_in
from services.common.resources.changes import Changes
from services.common.resources.resource import Resource, action, at_hand
from services.common.resources.routes import Described, add_routes
from tests.services.kept_records import KeptRecords


class BuoyBody(BaseModel):
    name: str
    colour: str
    version: int


class Buoys:
    """Buoys and their colours, as a topic has them; `is_away` acknowledges nothing."""

    log_name = "the sea"

    def __init__(self) -> None:
        self.colours: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.is_away = self.is_lost = self.is_unread = False
        self.trail = KeptRecords()
        self.resource = Resource[str](
            noun="buoy",
            topic="buoys",
            not_ready_because=lambda: ["the sea was not read"] if self.is_unread else [],
            present=at_hand(self.colours.get),
            version=lambda name, _: self.versions.get(name, 0),
            read=lambda _, document, __: self.read(document),
            document=lambda colour: {"colour": colour},
            refuse=self.refuse,
            record=self.record,
            audited=lambda name, before, after: (f"buoy.{action(before, after)}", name, before, after),
        )
        app, router = FastAPI(), APIRouter(prefix="/buoys")
        install_problem_handlers(app)
        changes = Changes(self.resource, self, AuditTrail("sea", self.trail), lambda: 7, shown_within_s=0.1)
        described = Described("name", 9, BuoyBody, self.show, "it swims", "A colour.", "Sink it.", "It is in use")
        add_routes(router, self.resource, changes.make, self.body, described)
        app.include_router(router)
        self.client = TestClient(app)

    @staticmethod
    async def body(request: Request) -> Any:
        return json_in(await request.body())

    @staticmethod
    def read(document: Any) -> str:
        if not isinstance(document, dict) or document.keys() != {"colour"}:
            raise Problem(422, "colour is missing")
        return str(document["colour"])

    @staticmethod
    def refuse(name: str, _present: str | None, wanted: str | None) -> None:
        if wanted is None and name == "harbour":
            raise Problem(409, "a ship is at it")

    @staticmethod
    def record(name: str, wanted: str | None, change: LastChange) -> tuple[bytes, bytes | None]:
        return name.encode(), json.dumps([wanted, astuple(change)]).encode()

    async def publish_record(self, _topic: str, key: bytes, value: bytes | None) -> bool:
        if self.is_away or value is None:
            return False
        wanted, [version, changed_at_us, _] = json.loads(value)
        assert changed_at_us == 7
        if not self.is_lost:
            self.versions[key.decode()] = version
            if wanted is None:
                del self.colours[key.decode()]
            else:
                self.colours[key.decode()] = wanted
        return True

    def show(self, name: str) -> BuoyBody:
        if name not in self.colours:
            raise Problem(404, "there is no such buoy")
        return BuoyBody(name=name, colour=self.colours[name], version=self.versions[name])

    def ask(self, method: str, name: str, document: Any = None, if_match: str | None = None) -> tuple[int, str | None]:
        headers = {} if if_match is None else {"If-Match": if_match}
        answer = self.client.request(method, f"/buoys/{name}", json=document, headers=headers)
        return answer.status_code, answer.headers.get("etag")


@pytest.fixture
def buoys() -> Buoys:
    made = Buoys()
    assert made.ask("PUT", "north", {"colour": "red"}) == (201, '"1"')
    return made


def test_it_is_created_changed_and_removed_and_each_change_is_audited(buoys: Buoys) -> None:
    assert buoys.ask("PATCH", "north", {"colour": "green"}, '"1"') == (200, '"2"')
    assert buoys.ask("PUT", "north", {"colour": "green"}, '"2"') == (200, '"2"')  # it is so already
    assert buoys.ask("GET", "north") == (200, '"2"')
    assert buoys.ask("DELETE", "north", None, '"2"') == (204, None)
    assert buoys.ask("GET", "north") == (404, None)
    assert buoys.ask("PUT", "north", {"colour": "red"}) == (201, '"4"')
    trail = [(each["action"], each["before"], each["after"]) for each in buoys.trail.changes]
    assert trail == [
        ("buoy.created", None, "red"),
        ("buoy.changed", "red", "green"),
        ("buoy.removed", "green", None),
        ("buoy.created", None, "red"),
    ]


@pytest.mark.parametrize(
    ("method", "name", "document", "if_match", "status"),
    [
        ("PUT", "north", {"colour": "green"}, None, 428),
        ("PUT", "north", {"colour": "green"}, '"9"', 412),
        ("PUT", "south", {"colour": "green"}, '"1"', 412),
        ("PUT", "north", {"color": "green"}, '"1"', 422),
        ("PATCH", "south", {"colour": "green"}, "*", 404),
        ("DELETE", "south", None, "*", 404),
        ("PUT", "a-long-name", {"colour": "green"}, None, 422),
    ],
)
def test_what_is_refused_changes_nothing(
    buoys: Buoys, method: str, name: str, document: Any, if_match: str | None, status: int
) -> None:
    assert buoys.ask(method, name, document, if_match)[0] == status
    assert (buoys.colours, len(buoys.trail.changes)) == ({"north": "red"}, 1)


def test_what_is_in_use_stays(buoys: Buoys) -> None:
    assert buoys.ask("PUT", "harbour", {"colour": "red"}) == (201, '"1"')
    assert buoys.ask("DELETE", "harbour", None, "*")[0] == 409
    assert buoys.ask("PATCH", "harbour", {"colour": "green"}, "*") == (200, '"2"')


def test_a_version_is_not_given_again_after_kafka_was_away(buoys: Buoys) -> None:
    buoys.is_away = True
    assert buoys.ask("PUT", "north", {"colour": "green"}, '"1"')[0] == 503
    buoys.is_away = False
    assert buoys.ask("PUT", "north", {"colour": "green"}, '"1"') == (200, '"3"')


def test_nothing_is_changed_before_all_was_read(buoys: Buoys) -> None:
    buoys.is_unread = True
    assert buoys.ask("PUT", "north", {"colour": "green"}, '"1"')[0] == 503
    assert buoys.colours == {"north": "red"}


def test_a_change_that_is_not_read_back_is_no_success(buoys: Buoys) -> None:
    buoys.is_lost = True
    assert buoys.ask("PUT", "north", {"colour": "green"}, '"1"')[0] == 503
    assert [each["after"] for each in buoys.trail.changes] == ["red", "green"]  # Kafka has it
