"""Keys: their text, which is shown once, what is kept of them, and the ring of those that are valid now."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from coincide.wire.fields import FormatVersion, Microseconds, Name
from services.common.access.key_scopes import KeyScope, PostingRights

KEYS = "keys"
ANY = ("*",)
MOST_PATTERNS = 50
MOST_REQUESTS_PER_S = 100_000.0
ID_PATTERN = r"[0-9a-f]{12}"
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9 ._@-]{0,99}"
_FORM = re.compile(rf"ck_({ID_PATTERN})_[A-Za-z0-9_-]{{43}}")

Patterns = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=MOST_PATTERNS)]


def _formed(pattern: str, description: str) -> Meta:
    return Meta(pattern=rf"^{pattern}\Z", description=description)


class AccessKey(Struct, frozen=True, kw_only=True, dict=True):
    """A key without its text.

    Key: the key's id. The topic is compacted: a newer record replaces an older one, and a null value revokes the key.
    """

    v: FormatVersion = 1
    id: Annotated[str, _formed(ID_PATTERN, "What the key's text has behind ck_.")]
    name: Annotated[str, _formed(NAME_PATTERN, "Whose it is, or what for."), Meta(max_length=100)]
    sha256: Annotated[str, _formed("[0-9a-f]{64}", "SHA-256 of the key's whole text.")]
    scopes: Annotated[tuple[KeyScope, ...], Meta(min_length=1)]
    areas: Annotated[Patterns, Meta(description="Areas it may post detections for.")] = ANY
    sensors: Annotated[Patterns, Meta(description="Sensors it may post detections for.")] = ANY
    requests_per_s: Annotated[float, Meta(gt=0, le=MOST_REQUESTS_PER_S, description="Of each component.")]
    created_at_us: Microseconds
    created_by: Annotated[str, Meta(description="Name of the key, or the command, that made it.")]

    @cached_property
    def posts(self) -> PostingRights | None:
        """For which areas and sensors it may post; None for all."""
        is_limited = (self.areas, self.sensors) != (ANY, ANY) and KeyScope.ADMIN not in self.scopes
        return PostingRights(self.areas, self.sensors) if is_limited else None

    def may(self, scope: KeyScope) -> bool:
        """Whether it may do what needs `scope`."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes

    def shown(self) -> dict[str, object]:
        """Return what may be shown and audited: everything but the hash."""
        fields: dict[str, object] = msgspec.to_builtins(self)
        return {name: value for name, value in fields.items() if name not in {"v", "sha256"}}


def new_text() -> str:
    """Return the text of a new key: ``ck_``, an id, and 256 random bits."""
    return f"ck_{secrets.token_hex(6)}_{secrets.token_urlsafe(32)}"


def id_in(text: str) -> str | None:
    """Return the id in the text of a key; None where it has not the form of one."""
    formed = _FORM.fullmatch(text)
    return formed[1] if formed else None


def hash_of(text: str) -> str:
    """Return the SHA-256 of a key's text: nobody can try 2^256 texts, so that a slow hash would gain nothing."""
    return hashlib.sha256(text.encode()).hexdigest()


_decode = msgspec.json.Decoder(AccessKey).decode


def key_in(value: bytes) -> AccessKey:
    """Read a record of coincide.keys; a `ValueError` says what is wrong with it."""
    return _decode(value)  # msgspec's errors are ValueErrors


class KeyRing:
    """The keys that are valid now, swapped whole: one thread changes it, any may read it."""

    def __init__(self) -> None:
        self._keys: Mapping[str, AccessKey] = {}
        self.is_caught_up = False

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[AccessKey]:
        return iter(sorted(self._keys.values(), key=lambda key: key.created_at_us))

    def replace(self, keys: Mapping[str, AccessKey]) -> None:
        """Make `keys` all there are; from now on the ring is caught up."""
        self._keys = dict(keys)
        self.is_caught_up = True

    def apply(self, changes: Mapping[str, AccessKey | None]) -> None:
        """Add or replace keys by id; None revokes one."""
        if changes:
            self._keys = {id_: key for id_, key in {**self._keys, **changes}.items() if key is not None}

    def get(self, id_: str) -> AccessKey | None:
        """Return the key with this id."""
        return self._keys.get(id_)

    def holder_of(self, text: str) -> AccessKey | None:
        """Return the key that `text` is the text of; None where there is no such key, or no longer."""
        id_ = id_in(text)
        key = self._keys.get(id_) if id_ else None
        if key is None or not hmac.compare_digest(hash_of(text), key.sha256):
            return None
        return key


def new_key(fields: Mapping[str, object], created_by: str, created_at_us: int) -> tuple[AccessKey, str]:
    """Return a new key and its text; `fields` are its name, scopes, areas, sensors and requests_per_s.

    Raises `ValueError`: one of them is not allowed.
    """
    text = new_text()
    made = {"id": id_in(text), "sha256": hash_of(text), "created_at_us": created_at_us, "created_by": created_by}
    return msgspec.convert({**fields, **made}, AccessKey), text
