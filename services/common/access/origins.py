"""Where a request may come from: the law of Host, Origin and Content-Type, which holds with and without keys.

A page of any origin may have its browser send requests to this machine. The browser says so (Origin, Sec-Fetch-Site),
and asks first before it sends a body that is not a form. A page whose name was bound anew to this machine's address
is of the same origin to the browser, and is told by the Host that it names.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ANY_HOST = "*"
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:\[\]/@]+))(?::\d{1,5})?")
_READING = frozenset({"GET", "HEAD"})
#: A page may send these to other origins unasked (https://fetch.spec.whatwg.org/#cors-safelisted-request-header).
_OF_FORMS = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})


@lru_cache(1024)
def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Origins:
    """By which names a component is called, and which pages of other origins may call it.

    `hosts` are names besides localhost and `bound`, the address that is listened on; ``*`` is any. An address in place
    of a name is always good: nobody can bind that anew.
    """

    def __init__(self, bound: str, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._names = LOOPBACK_NAMES | {bound.lower()} | {name.lower() for name in hosts}
        self._origins = frozenset(origins)

    def why_not_host(self, headers: Mapping[str, str]) -> str | None:
        """Return why the Host is not this component's; None where it is."""
        host = headers.get("host", "")
        formed = _AUTHORITY.fullmatch(host)
        if ANY_HOST in self._names:
            return None
        name = (formed[1] or formed[2]).lower().removesuffix(".") if formed else ""
        if name in self._names or _is_address(name):
            return None
        return f"Host is {host[:100]!r}: not a name of this server; allowed_hosts in its settings lists its names"

    def lists(self, headers: Mapping[str, str]) -> bool:
        """Whether the request is of a page of another origin that may call."""
        return headers.get("origin") in self._origins

    def why_not_origin(self, method: str, headers: Mapping[str, str]) -> str | None:
        """Return why the page that sends this may not; None where it may, or where no page sends it."""
        origin = headers.get("origin")
        if origin is not None:
            if origin in self._origins or origin.partition("://")[2].lower() == headers.get("host", "").lower():
                return None
            return f"Origin is {origin[:100]!r}: a page from elsewhere; allowed_origins in the settings lists who may"
        site = headers.get("sec-fetch-site", "none")
        follows_a_link = method in _READING and headers.get("sec-fetch-mode") == "navigate"
        if site in {"none", "same-origin"} or follows_a_link:
            return None
        return f"Sec-Fetch-Site is {site[:100]!r}: a page from elsewhere sends this"


def has_body(headers: Mapping[str, str]) -> bool:
    """Whether a request has a body."""
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def why_not_content_type(method: str, headers: Mapping[str, str]) -> str | None:
    """Return why nobody looks at the body; None where there is none, or its Content-Type is no form's.

    A form is sent by POST. Text may be PUT: of a PUT a browser asks first, whatever it sends.
    """
    if not has_body(headers):
        return None
    content_type = headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type and (media_type not in _OF_FORMS or (method, media_type) == ("PUT", "text/plain")):
        return None
    return f"Content-Type is {content_type[:100]!r}: say what the body is, such as application/json"
