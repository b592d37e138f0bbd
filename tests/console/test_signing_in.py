"""Signing in, in a real browser, where a key is needed; and what pages from elsewhere cannot do."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import running_console, shoot
from tests.console.line import Line, running_line
from tests.console.past import running_past
from tests.integration.service_process import ServiceProcess
from tests.patience import until

pytestmark = pytest.mark.slow
OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def locked_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    with running_line(tmp_path_factory.mktemp("locked"), needs_key=True) as line:
        yield line


@pytest.fixture(scope="module")
def locked(locked_line: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A console that needs keys, as its services do."""
    with running_console(tmp_path_factory.mktemp("locked-console"), locked_line, require_keys=True) as console:
        yield console


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_a_key_opens_the_page_that_was_wanted_and_signing_out_closes_it(
    open_page: OpenPage, locked: ServiceProcess, locked_line: Line
) -> None:
    page = open_page("/?area=harbour", url=locked.url)
    expect(page).to_have_url(re.compile(r"/sign-in\?to=%2F%3Farea%3Dharbour"))
    shoot(page, "sign-in")
    sign_in(page, locked_line.keys.make("ann", ["read"]))
    expect(page).to_have_url(re.compile(r"/\?area=harbour$"))
    expect(page.locator(".who")).to_have_text("ann")
    [cookie] = [each for each in page.context.cookies() if each["name"] == "coincide_console"]
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    other = page.context.new_page()
    other.goto(locked.url)
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/sign-in$"))
    other.wait_for_url(re.compile("/sign-in"))  # what was open elsewhere closes by itself
    page.goto(locked.url)
    expect(page).to_have_url(re.compile("/sign-in"))


@pytest.mark.parametrize(
    ("key", "sentence"),
    [("hello", "this is no key"), ("ck_0123456789ab_" + "x" * 43, "misspelt, or was revoked")],
)
def test_what_is_no_key_is_refused_in_a_sentence(
    open_page: OpenPage, locked: ServiceProcess, key: str, sentence: str
) -> None:
    page = open_page("/", url=locked.url)
    sign_in(page, key)
    expect(page.get_by_role("alert")).to_contain_text(sentence)
    assert key not in page.content()
    open_page.faults.expected.append("401")  # type: ignore[attr-defined]


def test_a_key_that_may_not_read_is_not_let_in(open_page: OpenPage, locked: ServiceProcess, locked_line: Line) -> None:
    page = open_page("/", url=locked.url)
    sign_in(page, locked_line.keys.make("gateway", ["ingest"]))
    expect(page.get_by_role("alert")).to_contain_text("lacks the scope read")
    open_page.faults.expected.append("403")  # type: ignore[attr-defined]


def test_a_page_shows_what_its_key_may_do_and_closes_when_the_key_is_revoked(
    open_page: OpenPage, locked: ServiceProcess, locked_line: Line
) -> None:
    reader, poster = open_page("/", url=locked.url), open_page("/", url=locked.url, is_apart=True)
    key = locked_line.keys.make("reader", ["read"])
    sign_in(reader, key)
    sign_in(poster, locked_line.keys.make("poster", ["read", "ingest"]))
    expect(reader.get_by_text("Your key may not post detections")).to_be_visible()
    shoot(reader, "first-steps")
    poster.get_by_role("button", name="Report something of now").click()
    expect(poster.get_by_text("Nothing has been seen yet")).to_be_hidden()
    expect(reader.get_by_text("Nothing has been seen yet")).to_be_hidden()  # it sees what the other posted
    locked_line.keys.publish("keys", key.split("_")[1].encode(), None)
    reader.reload()
    expect(reader).to_have_url(re.compile("/sign-in"))


def test_a_reader_is_offered_nothing_that_is_refused(
    open_page: OpenPage, locked: ServiceProcess, locked_line: Line
) -> None:
    receiver = {"webhook": {"url": "https://nowhere.invalid/"}}
    made = locked_line.call("PUT", "alerting", "/v1/receivers/ops", json=receiver, headers=locked_line.headers)
    assert made.is_success
    key = locked_line.keys.make("watcher", ["read"])
    page = open_page("/", url=locked.url)
    sign_in(page, key)
    expect(page.locator(".who")).to_have_text("watcher")
    before = locked_line.refusals("scope")
    may_not = {
        "/queries": ("New query",),
        "/queries?query=bang": ("Pause", "Remove", "Apply this threshold", "Save"),
        "/sensors": ("New sensor", "New stream", "Change"),
        "/sensors?sensor=mic-1": ("Save", "Remove this sensor", "Accept"),
        "/alerts": ("Take over", "Silence", "New receiver", "Send a test"),
        "/health": (),
        "/history": ("Ask",),
    }
    for path, names in may_not.items():
        page.goto(locked.url + path)
        expect(page.locator("h1")).to_be_visible()
        page.wait_for_load_state("networkidle")
        offered = page.locator(".content").get_by_role("button").or_(page.locator(".content").get_by_role("link"))
        assert not {each.strip() for each in offered.all_text_contents()} & set(names), path
        for nth in range(page.locator(".content button").count()):
            page.evaluate(f"document.querySelectorAll('.content button')[{nth}]?.click()")
        page.wait_for_timeout(500)  # what it asks for may come later
    assert locked_line.refusals("scope") == before
    shown = {"Authorization": f"Bearer {key}"}
    assert locked_line.call("POST", "alerting", "/v1/queries/bang/pause", headers=shown).status_code == 403
    assert locked_line.refusals("scope") == before + 1  # so it would have been seen


def test_a_reader_sees_what_another_threshold_would_give(
    open_page: OpenPage, locked: ServiceProcess, locked_line: Line, tmp_path: Path
) -> None:
    now_us = time.time_ns() // 1000
    heard = [{"sensor": f"mic-{nth}", "stream": "noise", "detected_at": now_us} for nth in (1, 3)]
    locked_line.post(heard, **locked_line.headers).raise_for_status()
    before = locked_line.refusals("scope")
    with running_past(locked_line, tmp_path):
        page = open_page("/queries?query=bang", url=locked.url)
        sign_in(page, locked_line.keys.make("curious", ["read"]))
        card = page.get_by_label("Threshold").first
        card.get_by_label("Over").select_option("hour")
        card.get_by_role("button", name="Look").click()
        expect(card.locator(".slider-sentence")).to_contain_text("1 match in 60 min")
        card.locator("input[type=range]").fill("0.9")
        expect(card.locator(".slider-sentence")).to_contain_text("At 0.90: 0 matches")
        expect(card).to_contain_text("It takes a key with the scope queries to apply another threshold")
        page.wait_for_timeout(500)  # what it asks for may come later
    assert locked_line.refusals("scope") == before


def test_the_session_ends_nowhere_in_the_page(open_page: OpenPage, locked: ServiceProcess, locked_line: Line) -> None:
    key = locked_line.keys.make("quiet", ["read"])
    page = open_page("/", url=locked.url)
    sign_in(page, key)
    expect(page.locator(".who")).to_have_text("quiet")
    until(lambda: key not in page.content(), 1.0)
    assert page.evaluate("document.cookie").find("coincide_console") == -1


def test_metrics_need_a_key_where_the_console_does(locked_line: Line, locked: ServiceProcess) -> None:
    assert locked.call("GET", "/metrics").status_code == 401
    for scopes, status in ((["ingest"], 401), (["read"], 200)):
        headers = {"Authorization": f"Bearer {locked_line.keys.make('prometheus', scopes)}"}
        assert locked.call("GET", "/metrics", headers=headers).status_code == status
    assert locked.call("GET", "/readyz").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {"Host": "evil.example"}, 421),
        ("POST", "/sign-in", {"Origin": "http://evil.example"}, 403),
        ("POST", "/sign-out", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", {"Origin": "http://evil.example"}, 403),
    ],
)
def test_requests_of_pages_from_elsewhere_are_refused(
    console: ServiceProcess, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert httpx2.request(method, console.url + path, headers=headers).status_code == status


def test_a_body_that_is_too_long_or_has_no_length_is_refused(console: ServiceProcess) -> None:
    assert httpx2.post(f"{console.url}/sign-in", content=b"x" * 70_000).status_code == 413
    assert httpx2.post(f"{console.url}/sign-in", content=iter([b"x"])).status_code == 413


def test_a_page_from_elsewhere_cannot_open_a_socket_or_a_frame(open_page: OpenPage, console: ServiceProcess) -> None:
    page = open_page("/")
    elsewhere = page.context.new_page()
    elsewhere.route("http://evil.example/", lambda route: route.fulfill(body="<p>hello</p>", content_type="text/html"))
    elsewhere.goto("http://evil.example/")
    address = console.url.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    script = """(address) => new Promise((done) => {
        const socket = new WebSocket(address);
        socket.onopen = () => done("open");
        socket.onerror = () => done("refused");
    })"""
    assert elsewhere.evaluate(script, address) == "refused"
    assert page.evaluate(script, address) == "open"
    headers = httpx2.get(console.url).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src 'self' 'nonce-" in policy
    assert "'unsafe-inline'" not in policy.split("style-src", maxsplit=1)[0]
    assert headers["x-frame-options"] == "DENY"


def test_a_script_that_got_into_a_page_does_not_run(open_page: OpenPage) -> None:
    page = open_page("/")
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        const image = document.createElement("div");
        image.innerHTML = '<img src="data:," onerror="window.hacked = 2">';
        document.body.append(image);
    }""")
    page.wait_for_timeout(300)
    assert page.evaluate("window.hacked") is None
    refusals = [each for each in open_page.faults if "Content Security Policy" in each]  # type: ignore[attr-defined]
    assert refusals
    open_page.faults.expected.append("Content Security Policy")  # type: ignore[attr-defined]
