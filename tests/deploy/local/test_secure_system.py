"""`make up` with a certificate and its key: every process speaks HTTPS, and knows the others by the certificate."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import expect, sync_playwright

from deploy.host.machine import LocalError
from deploy.local.layout import COMPONENTS, Layout
from deploy.local.system import HARBOUR, System
from services.demo.harbour import BANG
from tests.browser import find_browser
from tests.patience import until
from tests.services.https_server import https_server, signed_certificate

pytestmark = [pytest.mark.jvm, pytest.mark.night]


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    folder = tmp_path_factory.mktemp("secure")
    archive = {"COINCIDE_ARCHIVE_PATH": json.dumps(str(folder / "archive"))}
    whole = System(Layout.isolated(folder / "system", archive, signed_certificate(folder / "tls")))
    try:
        whole.up()
        yield whole
    finally:
        killed = whole.down()
    assert not killed, f"did not stop in order: {killed}"


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_answers_over_https_alone_and_whoever_knows_it(secure: System, name: str) -> None:
    url = f"{secure.layout.url(name)}/livez"
    assert httpx2.get(url, verify=secure.layout.trust()).status_code == 200
    with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx2.get(url)
    with pytest.raises(httpx2.TransportError):
        httpx2.get(url.replace("https:", "http:"))


def test_bangs_are_posted_and_read_and_the_console_shows_them(secure: System) -> None:
    secure.supervision.start_process(HARBOUR)
    until(lambda: bool(secure.alerting.get("/v1/matches", params={"query": BANG}).json()["items"]))
    assert secure.alerting.get("/v1/history-runs").status_code == 200  # which alerting asks of the history process
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(ignore_https_errors=True).new_page()
        faults: list[str] = []
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.goto(secure.layout.url("console"))
        moment = page.locator(".moment", has_text="harbour")
        expect(moment).to_contain_text("may have happened together", timeout=60_000)
        browser.close()
    assert faults == []


def test_a_certificate_that_is_not_believed_is_one_sentence(secure: System, tmp_path: Path) -> None:
    with https_server(tmp_path) as (url, _):
        ports = {**vars(secure.layout.ports), "ingest": int(url.rpartition(":")[2])}
        stranger = Layout(tmp_path, type(secure.layout.ports)(**ports), secure=frozenset({"ingest"}))
        with pytest.raises(LocalError, match=r"^the certificate of ingest is not believed: .*"):
            System(stranger).is_ready("ingest")
