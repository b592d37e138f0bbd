"""A mail server for tests: a real one, which keeps what was sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes
from email.message import Message
from typing import Any

from aiosmtpd.controller import Controller

from deploy.host.machine import free_ports


class Mailbox:
    """Keeps what was sent, unless it is `full`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.letters: list[Message] = []
        self.is_full = False

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        if self.is_full:
            return "452 no room"
        self.letters.append(message_from_bytes(envelope.content))
        return "250 taken"


@contextmanager
def running_mailbox() -> Iterator[Mailbox]:
    mailbox = Mailbox(*free_ports(1))
    controller = Controller(mailbox, hostname="127.0.0.1", port=mailbox.port)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
