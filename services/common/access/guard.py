"""Guard: what every component asks of a request before it looks at it: path, Host, Origin, Content-Type, key, rate.

It knows no server: `services.common.access.asgi` hands it a method, a path and headers.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from services.common.access.access_keys import AccessKey, KeyRing
from services.common.access.caller import Caller
from services.common.access.key_scopes import needed_scope
from services.common.access.origins import Origins, has_body, why_not_content_type
from services.common.http.problem_document import MEDIA_TYPE, problem_document
from services.common.http.route_table import why_not_path
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames

#: The headers that the guard reads, in small letters; of one that is given twice both values, with a comma between.
HEADERS = frozenset(
    {
        *("host", "origin", "sec-fetch-site", "sec-fetch-mode", "authorization", "access-control-request-method"),
        *("content-type", "content-length", "transfer-encoding"),
    }
)
BURST_S = 1.0
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, "
    "Last-Event-ID, Change-Reason",
    "Access-Control-Max-Age": "600",
}
_EXPOSED = "ETag, Location, Retry-After, WWW-Authenticate"


def first_key(names: TopicNames, log_option: str = "") -> str:
    """Return the command that makes the first key of a system; `log_option` is that of its `Log`."""
    return f"python -m services.common.access{log_option}{names.option} create --scope admin"


class Refusal(Exception):  # noqa: N818 - a verdict, not a mishap
    """The request goes no further; `reason` is what it is counted under."""

    def __init__(self, status: int, reason: str, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.reason, self.detail, self.headers = status, reason, detail, headers or {}


class Ruling(NamedTuple):
    """Who calls; what to answer in the component's place (None: let it answer); headers to add to its answer."""

    caller: Caller
    status: int | None = None
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Guard:
    """Rules on requests, from any thread; `on_refused` is called with the reason of each refusal.

    Whoever shows a key is held to it, even where `needs_key` is false. `how_first` is the command that makes the first.
    """

    def __init__(
        self,
        origins: Origins,
        ring: KeyRing,
        *,
        needs_key: bool,
        how_first: str = first_key(DEFAULT_NAMES),
        on_refused: Callable[[str], object] = lambda _: None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._origins, self._ring, self._needs_key = origins, ring, needs_key
        self._on_refused, self._clock_s, self._how_first = on_refused, clock_s, how_first
        self._paid_until_s: dict[str, float] = {}

    def rule(
        self, method: str, path: str, route: str | None, headers: Mapping[str, str], address: str | None
    ) -> Ruling:
        """Return what becomes of a request; `headers` has those of `HEADERS` that it has.

        `path` has its percent-encoding undone. `route` is the template of the route that answers this method and path,
        None where there is none: so the scope is that of what would answer, however the path is written.
        """
        added = self._cors(headers)
        try:
            self._check_source(method, path, headers)
            if added and method == "OPTIONS" and "access-control-request-method" in headers:
                return Ruling(Caller(address=address), 204, headers={**added, **_PREFLIGHT})
            return Ruling(self._caller(method, route, headers, address), headers=added)
        except Refusal as why:
            return self.refuse(why, Caller(address=address), headers)

    def refuse(self, why: Refusal, caller: Caller, headers: Mapping[str, str]) -> Ruling:
        """Count a refusal and return what is answered; `headers` are those of the request."""
        self._on_refused(why.reason)
        body = json.dumps(problem_document(why.status, why.detail)).encode()
        close = {"Connection": "close"} if has_body(headers) else {}  # nobody reads the body
        said = {**self._cors(headers), **why.headers, **close, "Content-Type": MEDIA_TYPE}
        return Ruling(caller, why.status, body, said)

    def knows(self, key: str) -> bool:
        """Whether the key with this id is valid now."""
        return self._ring.get(key) is not None

    def _check_source(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        if why := why_not_path(path):
            raise Refusal(400, "path", why)
        if why := self._origins.why_not_host(headers):
            raise Refusal(421, "host", why)
        if why := self._origins.why_not_origin(method, headers):
            raise Refusal(403, "origin", why)
        if why := why_not_content_type(method, headers):
            raise Refusal(415, "content_type", why)

    def _cors(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        if not self._origins.lists(headers):
            return {}
        return {
            "Access-Control-Allow-Origin": headers["origin"],
            "Access-Control-Expose-Headers": _EXPOSED,
            "Vary": "Origin",
        }

    def _caller(self, method: str, route: str | None, headers: Mapping[str, str], address: str | None) -> Caller:
        scope = needed_scope(method, route)
        credentials = headers.get("authorization")
        if scope is None or (credentials is None and not self._needs_key):
            return Caller(address=address)
        key = self._key(credentials)
        if not key.may(scope):
            raise Refusal(
                403,
                "scope",
                f"key {key.id} ({key.name}) lacks the scope {scope}; it has {', '.join(key.scopes)}",
                {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
            )
        self._pay(key)
        return Caller(key.id, key.name, address, key.posts, key.scopes)

    def _key(self, credentials: str | None) -> AccessKey:
        if not self._ring.is_caught_up:
            raise Refusal(503, "keys_unread", "the keys have not been read yet", {"Retry-After": "1"})
        if credentials is None:
            first = "" if len(self._ring) else f"; none exists yet, make the first with {self._how_first}"
            detail = f"a key is needed: Authorization: Bearer ck_...{first}"
            raise Refusal(401, "no_key", detail, {"WWW-Authenticate": "Bearer"})
        kind, _, text = credentials.partition(" ")
        key = self._ring.holder_of(text.strip()) if kind.lower() == "bearer" else None
        if key is None:
            detail = "Authorization has no valid key: it is misspelt, or was revoked"
            raise Refusal(401, "bad_key", detail, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        return key

    def _pay(self, key: AccessKey) -> None:
        """Take one request from the key's rate: so many a second on average, and those of a second at once."""
        now_s = self._clock_s()
        paid_until_s = max(now_s, self._paid_until_s.get(key.id, now_s)) + 1 / key.requests_per_s
        if paid_until_s > now_s + max(BURST_S, 1 / key.requests_per_s):
            detail = f"key {key.id} ({key.name}) may send {key.requests_per_s:g} requests a second"
            raise Refusal(429, "rate", detail, {"Retry-After": str(math.ceil(1 / key.requests_per_s))})
        self._paid_until_s[key.id] = paid_until_s
