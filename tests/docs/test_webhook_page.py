"""The webhook of the page Be told is run as it stands, and told by Coincide's own sender."""

import subprocess
import sys
from functools import partial

import httpx2
import pytest

from deploy.host.machine import ROOT, free_ports
from services.alerting.receivers.connections import DeliveryError, Poster
from services.alerting.receivers.webhook import WebhookSender
from services.alerting.records.receiver import WebhookWay
from services.alerting.store.delivery_rows import Waiting
from tests.integration.webhook_sink import SECRET
from tests.patience import until
from tests.services.alerting.alerts.test_alert_lifecycle import found, played

PROGRAM = ROOT / "docs/how-to/webhook_receiver.py"


def test_the_page_shows_the_program() -> None:
    page = (ROOT / "docs/how-to/be-told.md").read_text(encoding="utf-8")
    assert PROGRAM.read_text(encoding="utf-8") in page
    code = [line for line in PROGRAM.read_text(encoding="utf-8").splitlines() if line and '"""' not in line]
    assert len(code) <= 20


def test_it_prints_what_is_signed_once_and_refuses_what_is_not() -> None:
    [port] = free_ports(1)
    environment = {"COINCIDE_OPS_SECRET": SECRET, "PORT": str(port)}
    url = f"http://127.0.0.1:{port}/"
    _, [step] = played(found(1))
    waiting = Waiting(step.key, 1, step.change, step.at_us, step.alert, step.at_us)
    hook = WebhookSender(WebhookWay(url=url, secret=SECRET), partial(Poster, may_be_private=True))
    unsigned = WebhookSender(WebhookWay(url=url), partial(Poster, may_be_private=True))
    command = [sys.executable, str(PROGRAM)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _answers(url))
            hook.send(waiting)
            hook.send(waiting)
            with pytest.raises(DeliveryError, match="answered 401"):
                unsigned.send(waiting)
        finally:
            hook.close()
            unsigned.close()
            process.kill()
        assert process.stdout is not None
        assert process.stdout.read().decode() == "coincide.alert.firing warning bay!\n"


def _answers(url: str) -> bool:
    try:
        return httpx2.get(url, trust_env=False).status_code == 501
    except httpx2.TransportError:
        return False
