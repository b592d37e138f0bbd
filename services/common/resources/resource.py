"""Resource: what people change, as a declaration; and edits, from what it is to what it shall be."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from coincide.wire.last_change import LastChange
from services.common.http.preconditions import merge_patch
from services.common.http.problem import Problem

T = TypeVar("T")

Edit = Callable[[T | None], T | None]
"""From what a thing is to what it shall be; None: it is not, or shall not be. A `Problem` refuses."""


@dataclass(frozen=True)
class Resource(Generic[T]):
    """What people change. Two things are equal if they say the same, whichever change brought them about.

    `read` makes what a document declares of its name, the document and what is present; a `Problem`, 422, refuses it.
    `refuse` raises a `Problem`, 409 or 422, where others rule a change out: it is in use, or there are too many.
    `audited` returns what the audit trail tells: the action, its subject, and the thing before and after it.
    """

    noun: str
    topic: str  # the short name of a compacted one
    not_ready_because: Callable[[], list[str]]  # why nothing can be changed now; empty when it can
    present: Callable[[str], Awaitable[T | None]]  # by its name, as the process goes by it
    version: Callable[[str, T | None], int]  # of a name, and what is present; 0 if it never had one
    read: Callable[[str, object, T | None], T]
    document: Callable[[T], Any]  # what declares it
    refuse: Callable[[str, T | None, T | None], None]  # name, what is present, and what it shall be
    record: Callable[[str, T | None, LastChange], tuple[bytes, bytes | None]]  # its key and its value
    audited: Callable[[str, T | None, T | None], tuple[str, str, Any, Any]]
    left: Callable[[T], T | None] = lambda _: None  # of what is removed


def at_hand(look_up: Callable[[str], T | None]) -> Callable[[str], Awaitable[T | None]]:
    """Return how a thing is looked up that needs no waiting for."""

    async def present(name: str) -> T | None:
        return look_up(name)

    return present


def replacement(of: Resource[T], name: str, document: object) -> Edit[T]:
    """Make it what a document says."""
    return lambda present: of.read(name, document, present)


def patched(of: Resource[T], name: str, patch: object) -> Edit[T]:
    """Apply a JSON merge patch (RFC 7396) to its document."""
    return lambda present: of.read(name, merge_patch(of.document(_existing(of, present)), patch), present)


def removal(of: Resource[T]) -> Edit[T]:
    """Remove it."""
    return lambda present: of.left(_existing(of, present))


def _existing(of: Resource[T], present: T | None) -> T:
    if present is None:
        raise Problem(404, f"there is no such {of.noun}")
    return present


class Changed(Protocol):
    """What has its last change with it."""

    @property
    def change(self) -> LastChange:
        """The one that made it what it is."""


def version_of(_name: str, present: Changed | None) -> int:
    """Return the version of something; 0 if it is not there."""
    return 0 if present is None else present.change.version


def action(before: object | None, after: object | None, changed: str = "changed") -> str:
    """Return how the audit trail calls a change."""
    return "created" if before is None else "removed" if after is None else changed
