"""The law of the guard: where a request may come from, which key it needs, and how often."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.common.access.access_keys import KeyRing, id_in
from services.common.access.guard import Guard, Ruling
from services.common.access.key_scopes import KeyScope, needed_scope
from services.common.access.origins import Origins
from tests.examples import examples
from tests.services.kept_records import KeptRecords

HERE = {"host": "localhost:8020"}
LISTED = "https://console.example"


def rule(headers: dict[str, str], method: str = "GET", path: str = "/v1/queries", **guard: Any) -> Ruling:
    origins = Origins("192.0.2.7", ["Alerting.example"], [LISTED])
    made = Guard(origins, guard.pop("ring", KeyRing()), needs_key=guard.pop("needs_key", False), **guard)
    return made.rule(method, path, path, headers, "198.51.100.1")


def status(headers: dict[str, str], method: str = "GET", path: str = "/v1/queries", **guard: Any) -> int | None:
    return rule(headers, method, path, **guard).status


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8020",
        "127.0.0.1:8020",
        "[::1]:8020",
        "alerting.example",
        "alerting.example.:8020",
        "192.0.2.7:8020",
        "10.1.2.3",
        "[2001:db8::1]:8020",
    ],
)
def test_its_own_names_and_every_address_are_taken(host: str) -> None:
    assert status({"host": host}) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8020",
        "localhost.evil.example",
        "",
        "127.0.0.1.evil.example",
        "localhost:8020x",
        "localhost, evil.example",
        "evil.example@localhost",
        "[::1",
        "2130706433",
        "0x7f.1",
        "alerting.example/x",
    ],
)
@pytest.mark.parametrize("path", ["/v1/queries", "/livez", "/nothing"])
def test_another_name_is_refused_on_every_path(host: str, path: str) -> None:
    refused = rule({"host": host}, path=path)
    assert refused.status == 421
    assert b"allowed_hosts" in refused.body


@pytest.mark.parametrize("character", [*map(chr, range(32)), "\x7f", "\x80", "\x85", "\x9f"])
def test_a_control_character_is_in_no_path(character: str) -> None:
    for path in (f"/livez{character}", f"{character}/livez", f"/v1/{character}keys"):
        refused = rule({"host": "evil.example"}, path=path)
        assert (refused.status, b"control character" in refused.body) == (400, True)


def test_a_request_without_a_host_is_refused() -> None:
    assert status({}) == 421


def test_any_name_is_taken_only_where_the_settings_say_so() -> None:
    guard = Guard(Origins("127.0.0.1", ["*"]), KeyRing(), needs_key=False)
    assert guard.rule("GET", "/v1/queries", "/v1/queries", {"host": "evil.example"}, None).status is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "http://localhost:3000", "http://localhost", "https://console.example.evil"],
)
def test_a_page_from_elsewhere_is_refused_whatever_it_does(method: str, origin: str) -> None:
    assert status({**HERE, "origin": origin}, method) == 403


def test_a_page_of_its_own_is_taken() -> None:
    assert status({**HERE, "origin": "http://localhost:8020"}, "DELETE") is None
    assert status({**HERE, "sec-fetch-site": "same-origin"}, "POST") is None


@pytest.mark.parametrize("site", ["cross-site", "same-site", "made-up"])
def test_what_a_page_from_elsewhere_embeds_is_refused(site: str) -> None:
    fetched = {**HERE, "sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
    assert status(fetched) == 403
    assert status({**fetched, "sec-fetch-mode": "navigate"}) is None  # a link that somebody follows
    assert status({**fetched, "sec-fetch-mode": "navigate"}, "POST") == 403


def test_a_listed_origin_may_read_the_answers_and_its_preflight_needs_no_key() -> None:
    listed = {**HERE, "origin": LISTED}
    preflight = rule({**listed, "access-control-request-method": "PUT"}, "OPTIONS", needs_key=True)
    assert (preflight.status, preflight.headers["Access-Control-Allow-Origin"]) == (204, LISTED)
    assert {"Authorization", "Change-Reason"} <= set(preflight.headers["Access-Control-Allow-Headers"].split(", "))
    passed = rule(listed)
    assert (passed.status, passed.headers["Vary"]) == (None, "Origin")
    refused = rule(listed, needs_key=True)
    assert refused.headers["Access-Control-Allow-Origin"] == LISTED
    assert not rule(HERE).headers  # off for everybody else


@pytest.mark.parametrize(
    "content_type",
    [None, "", "text/plain", "Text/Plain; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data"],
)
@pytest.mark.parametrize("length", [{"content-length": "2"}, {"transfer-encoding": "chunked"}])
def test_a_body_that_a_page_may_send_unasked_is_refused(content_type: str | None, length: dict[str, str]) -> None:
    typed = {} if content_type is None else {"content-type": content_type}
    refused = rule({**HERE, **length, **typed}, "POST")
    assert refused.status == 415
    assert refused.headers["Connection"] == "close"


def test_text_may_be_put_for_a_browser_asks_before_that() -> None:
    text = {**HERE, "content-length": "2", "content-type": "text/plain; charset=utf-8"}
    assert [status(text, method) for method in ("PUT", "POST", "PATCH", "DELETE")] == [None, 415, 415, 415]
    form = {**text, "content-type": "multipart/form-data"}
    assert status(form, "PUT") == 415


def test_a_body_with_its_type_is_taken_and_no_body_needs_none() -> None:
    assert status({**HERE, "content-length": "2", "content-type": "application/json"}, "POST") is None
    assert status({**HERE, "content-length": "0"}, "POST") is None


@pytest.fixture
def records() -> KeptRecords:
    records = KeptRecords()
    records.ring.replace({})
    return records


def with_key(text: str, kind: str = "Bearer") -> dict[str, str]:
    return {**HERE, "authorization": f"{kind} {text}"}


def test_without_a_key_a_sentence_says_how_to_make_the_first(records: KeptRecords) -> None:
    refused = rule(HERE, ring=records.ring, needs_key=True)
    assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert b"python -m services.common.access create --scope admin" in refused.body
    records.make("first", ["admin"])
    assert b"services.common.access" not in rule(HERE, ring=records.ring, needs_key=True).body


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_health_needs_no_key(path: str) -> None:
    assert status(HERE, path=path, needs_key=True) is None


def test_as_long_as_no_key_was_read_nobody_is_let_in_and_nobody_is_called_wrong() -> None:
    assert status(with_key("ck_x"), ring=KeyRing(), needs_key=True) == 503


def test_a_wrong_key_is_refused_even_where_none_is_needed(records: KeptRecords) -> None:
    text = records.make("reader", ["read"])
    for wrong in (text[:-1] + ("A" if text[-1] != "A" else "B"), text[:-1], text + "A", "", "ck_", text.upper()):
        for needs_key in (True, False):
            refused = rule(with_key(wrong), ring=records.ring, needs_key=needs_key)
            assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, 'Bearer error="invalid_token"')
            assert wrong not in refused.body.decode() or len(wrong) < 4
    assert status(with_key(text, "Basic"), ring=records.ring, needs_key=True) == 401
    assert status(with_key(text, "bearer"), ring=records.ring, needs_key=True) is None


SCOPES = {
    "read": [("GET", "/v1/matches"), ("HEAD", "/v1/queries"), ("GET", "/metrics"), ("GET", "/openapi.json")],
    "ingest": [("POST", "/v1/detections")],
    "queries": [
        ("PUT", "/v1/queries/q"),
        ("POST", "/v1/queries/q/pause"),
        ("DELETE", "/v1/history-runs/r-1"),
        ("POST", "/v1/learning-runs"),
    ],
    "alerts": [("POST", "/v1/alerts/a/acknowledge"), ("POST", "/v1/silences")],
    "admin": [
        *[(method, f"/v1/{name}") for method in ("GET", "POST", "DELETE") for name in ("keys", "keys/x", "audit")],
        *[("POST", f"/v1/{name}") for name in ("receivers", "what-comes-next", "template-proposals/p/accept", "")],
        *[("PUT", "/v1/sensors/s"), ("POST", "/metrics")],
    ],
}
CASES = [(scope, method, path) for scope, asked in SCOPES.items() for method, path in asked]


@pytest.mark.parametrize(("needed", "method", "path"), CASES)
@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_may_do_what_its_scopes_say_and_admin_everything(
    records: KeptRecords, scope: str, needed: str, method: str, path: str
) -> None:
    text = records.make("somebody", [scope])
    answer = rule(with_key(text), method, path, ring=records.ring, needs_key=True)
    if scope in (needed, "admin"):
        assert (answer.status, answer.caller.name, answer.caller.key) == (None, "somebody", id_in(text))
        return
    assert answer.status == 403
    assert f"lacks the scope {needed}" in answer.body.decode()
    assert f'scope="{needed}"' in answer.headers["WWW-Authenticate"]
    # the same where no key is needed: who shows a key is held to it
    assert status(with_key(text), method, path, ring=records.ring) == 403


@settings(max_examples=examples())
@given(st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "X"]), st.text())
def test_no_path_but_health_needs_no_key(method: str, path: str) -> None:
    assert isinstance(needed_scope(method, path), KeyScope) or path in ("/livez", "/readyz")
    assert needed_scope(method, f"/v1/keys/{path}") == needed_scope(method, f"/v1/audit/{path}") == KeyScope.ADMIN


def test_a_revoked_key_is_refused(records: KeptRecords) -> None:
    text = records.make("gone", ["read"])
    assert status(with_key(text), ring=records.ring, needs_key=True) is None
    records.publish("keys", (id_in(text) or "").encode(), None)
    assert status(with_key(text), ring=records.ring, needs_key=True) == 401


def test_a_key_has_a_rate_of_its_own(records: KeptRecords) -> None:
    slow, other = (records.make(name, ["read"], requests_per_s=2.0) for name in ("slow", "other"))
    now_s = [100.0]
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=True, clock_s=lambda: now_s[0])

    def statuses(text: str, count: int) -> list[int | None]:
        return [guard.rule("GET", "/v1/queries", "/v1/queries", with_key(text), None).status for _ in range(count)]

    assert statuses(slow, 4) == [None, None, 429, 429]
    assert statuses(other, 1) == [None]
    assert guard.rule("GET", "/v1/queries", "/v1/queries", with_key(slow), None).headers["Retry-After"] == "1"
    now_s[0] += 0.5
    assert statuses(slow, 2) == [None, 429]
    now_s[0] += 1000
    assert statuses(slow, 3) == [None, None, 429]


@given(st.floats(0.01, 1e5), st.lists(st.floats(0, 3), max_size=60))
def test_no_more_pass_than_the_rate_and_one_burst(rate: float, pauses_s: list[float]) -> None:
    records = KeptRecords()
    text = records.make("k", ["read"], requests_per_s=rate)
    now_s = [0.0]
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=True, clock_s=lambda: now_s[0])
    passed = 0
    for pause_s in pauses_s:
        now_s[0] += pause_s
        passed += guard.rule("GET", "/v1/queries", "/v1/queries", with_key(text), None).status is None
    assert passed <= rate * (now_s[0] + 1) + 1


def test_refusals_are_counted_by_reason(records: KeptRecords) -> None:
    counted: list[str] = []
    guard = Guard(Origins("127.0.0.1"), records.ring, needs_key=True, on_refused=counted.append)
    for headers in (
        {"host": "x"},
        {**HERE, "origin": "http://x"},
        HERE,
        with_key("no"),
        {**HERE, "content-length": "1"},
    ):
        guard.rule("POST", "/v1/queries", "/v1/queries", headers, None)
    guard.rule("POST", "/v1/queries", "/v1/queries", with_key(records.make("r", ["read"])), None)
    assert counted == ["host", "origin", "no_key", "bad_key", "content_type", "scope"]
