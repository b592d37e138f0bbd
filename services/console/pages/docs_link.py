"""DocsLink: where the documentation says more, as a link where the setting `docs_url` says where its site is."""

from __future__ import annotations

import re

from nicegui import ui

from services.console.pages.shell import Words
from services.console.pages.viewer import Viewer


def docs_link(viewer: Viewer, page: str, section: str = "") -> None:
    """Show a page such as docs/how-to/ask-the-past.md, and a section of it."""
    words = f"{page}, “{section}”" if section else page
    if viewer.settings.docs_url is None:
        Words("span", words)
        return
    link = ui.element("a").props('target=_blank rel="noopener"')
    link.props["href"] = address_in(viewer.settings.docs_url, page, section)
    with link:
        Words("span", words)


def address_in(site: str, page: str, section: str) -> str:
    """Return the address of a section in the site that `make docs` builds."""
    address = f"{site.rstrip('/')}/{page.removeprefix('docs/').removesuffix('.md')}.html"
    return f"{address}#{anchor_of(section)}" if section else address


def anchor_of(section: str) -> str:
    """Return a heading's anchor as the site makes it: small letters, and hyphens between words."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", section).strip().lower())
