"""Mail through Apprise to a real SMTP server."""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from deploy.local.machine import free_ports
from services.alerting.receivers.receiver import Receiver
from tests.integration.service_process import until
from tests.services.alerting.receivers.outbox import outcomes, running_outbox
from tests.services.alerting.records import Database

pytestmark = pytest.mark.filterwarnings("default")  # of Apprise and aiosmtpd: theirs to mend


class Mailbox:
    """Keeps what was sent, unless it is `full`."""

    def __init__(self) -> None:
        self.letters: list[Message] = []
        self.is_full = False

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        if self.is_full:
            return "452 no room"
        self.letters.append(message_from_bytes(envelope.content))
        return "250 taken"


@pytest.fixture
def mail() -> Iterator[tuple[Mailbox, int]]:
    mailbox, [port] = Mailbox(), free_ports(1)
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    yield mailbox, port
    controller.stop()


def test_people_are_written_to_and_a_full_mailbox_is_tried_again(
    database: Database, mail: tuple[Mailbox, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from services.alerting.receivers import sending  # noqa: PLC0415

    monkeypatch.setattr(sending, "FIRST_PAUSE_S", 0.05)
    mailbox, port = mail
    mailbox.is_full = True
    urls = [f"mailto://127.0.0.1:{port}?from=coincide@example.org&to=ann@example.org&name=Coincide"]
    people = Receiver.model_validate({"id": "people", "people": {"urls": urls}})
    with running_outbox(database, people) as outbox:
        outbox.fire("e-1")
        until(lambda: outcomes(outbox, "people", "failed") >= 1)
        mailbox.is_full = False
        until(lambda: len(mailbox.letters) == 1)
    [letter] = mailbox.letters
    assert str(letter["Subject"]).startswith("[firing] warning: ")
    assert "ann@example.org" in str(letter["To"])
    text = "".join(
        part.get_payload(decode=True).decode()  # type: ignore[union-attr]
        for part in letter.walk()
        if part.get_content_type() == "text/plain"
    )
    assert "query: intruder" in text
    assert "area: bay" in text
