"""Viewer: what one open page has of its person, and of the services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import Literal
from urllib.parse import unquote

from fastapi import Request

from services.console.access.sessions import PersonSession
from services.console.pages.time_words import TimeWords, zone_named
from services.console.rest.line_watch import LineWatch
from services.console.rest.live_feed import LiveFeed
from services.console.rest.services import Rest
from services.console.rest.templates import KnownTemplates
from services.console.settings import ConsoleSettings

VIEW_COOKIE, ZONE_COOKIE = "coincide_view", "coincide_zone"
Theme = Literal["light", "dark", "auto"]


@dataclass(frozen=True)
class Viewer:
    """One open page: whose it is, the services as that person sees them, and how times and colours are shown."""

    session: PersonSession
    rest: Rest
    feed: LiveFeed
    line: LineWatch
    settings: ConsoleSettings
    templates: KnownTemplates
    is_signed_in: Callable[[str], bool]
    request: Request
    theme: Theme
    clock: Literal["utc", "local"]
    zone_name: str

    @property
    def times(self) -> TimeWords:
        """Says times as this person wants them."""
        return TimeWords(UTC if self.clock == "utc" else zone_named(self.zone_name))

    def is_open(self) -> bool:
        """Whether the person may go on looking: still signed in, with a key that is still valid."""
        return not self.feed.is_refused and (self.session.key is None or self.is_signed_in(self.session.id))

    def may(self, scope: str) -> bool:
        """Whether the person may do what needs `scope`."""
        return self.session.may(scope)


def view_of(request: Request) -> tuple[Theme, Literal["utc", "local"], str]:
    """Return theme, clock and the browser's zone, as the page's own switches left them in cookies."""
    words = request.cookies.get(VIEW_COOKIE, "").split(".")
    theme: Theme = "dark" if "dark" in words else "light" if "light" in words else "auto"
    return theme, "utc" if "utc" in words else "local", unquote(request.cookies.get(ZONE_COOKIE, ""))[:64]
