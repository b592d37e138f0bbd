"""Mail through Apprise to a real SMTP server."""

import pytest

from services.alerting.records.receiver import Receiver
from tests.integration.mailbox import running_mailbox
from tests.patience import until
from tests.services.alerting.receivers.outbox import outcomes, running_outbox
from tests.services.alerting.sample_records import Database

pytestmark = pytest.mark.filterwarnings("default")  # of Apprise and aiosmtpd: theirs to mend


def test_people_are_written_to_and_a_full_mailbox_is_tried_again(database: Database) -> None:
    with running_mailbox() as mailbox:
        mailbox.is_full = True
        urls = [f"mailto://127.0.0.1:{mailbox.port}?from=coincide@example.org&to=ann@example.org&name=Coincide"]
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
