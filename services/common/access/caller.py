"""Caller: who sends a request, as far as is known."""

from __future__ import annotations

import getpass
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from services.common.access.key_scopes import KeyScope, PostingRights

#: Where the guard leaves the caller in the scope of an ASGI request.
SCOPE_MEMBER = "coincide.caller"
ANYBODY = "anybody"
REASON_HEADER = "Change-Reason"
LONGEST_REASON_BYTES = 500


class ReasonError(ValueError):
    """A reason of a change that the audit trail does not take; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The id and name of the key that was shown, none where none is needed, and the address of the connection.

    `posts` says for which areas and sensors it may post detections; None for all of them. `scopes` are those of the
    key; None where no key is needed, which lets it do everything. `why` is what the caller gives as reason of a change.
    """

    key: str | None = None
    name: str = ANYBODY
    address: str | None = None
    posts: PostingRights | None = None
    scopes: tuple[KeyScope, ...] | None = None
    why: str | None = None

    @property
    def peer(self) -> str | None:
        """Whose share of what is few it takes: that of its key, or of its address if it shows none."""
        return self.address if self.key is None else f"key {self.key}"

    def because(self, header: str | None) -> Caller:
        """Return the caller with the reason that the header says in UTF-8; HTTP gives each of its bytes as a character.

        Raises `ReasonError`: it is too long.
        """
        if header is None:
            return self
        said = header.encode("latin-1", "replace")
        if len(said) > LONGEST_REASON_BYTES:
            raise ReasonError(f"{REASON_HEADER} has {len(said)} bytes: at most {LONGEST_REASON_BYTES}")
        return replace(self, why=said.decode("utf-8", "replace"))


NOBODY = Caller(name="nobody")  # a change that no request asked for


def command_caller() -> Caller:
    """Return who runs this process as a command: the user, and their machine."""
    return Caller(name=f"command of {getpass.getuser()}", address=socket.gethostname())


def caller_in(scope: Mapping[str, Any]) -> Caller:
    """Return who sends the request of an ASGI scope; somebody unknown where no guard has looked at it."""
    caller = scope.get(SCOPE_MEMBER)
    if isinstance(caller, Caller):
        return caller
    client = scope.get("client")
    return Caller(address=client[0] if client else None)
