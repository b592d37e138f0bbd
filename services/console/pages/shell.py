"""The shell around every page: navigation, switches, banner; and how empty, loading and failing parts look.

NiceGUI evaluates some props: a text of sensors or people never goes into `props("...")` but `props["title"] = text`.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import httpx2
from nicegui import context, ui
from nicegui.elements.mixins.text_element import TextElement

from services.console.pages.viewer import Viewer
from services.console.rest.services import ChangeRequest, RestError, Service

BANNER_EVERY_S, AGAIN_EVERY_S, COPIED_WITHIN_S = 1.0, 2.0, 5.0
CHANGED_MEANWHILE = "Somebody has changed it meanwhile. Load the page again to see what it is now."
_COPY = "return await navigator.clipboard?.writeText(%s).then(() => true, () => false) ?? false"
VALUE = "(event) => emit(event.target.value)"
_IS_LIGHT = "() => emit(!document.body.classList.contains('body--dark'))"  # where the system's theme counts, too


class Words(TextElement):
    """An element that holds nothing but text, which is never read as markup."""

    def __init__(self, tag: str, text: str) -> None:
        super().__init__(tag=tag, text=text)


def figure(words: str, exact: str, tag: str = "span") -> Words:
    """Show a number as people read it; a pointer that rests on it shows what it is exactly."""
    made = Words(tag, words).classes("number")
    made.props["title"] = exact
    return made


@dataclass(frozen=True)
class ConsolePage:
    """A page: its path, its name in the navigation, and what fills it; `show` may raise `RestError`."""

    path: str
    name: str
    show: Callable[[Viewer], Awaitable[None]]


@contextmanager
def shell(viewer: Viewer, page: ConsolePage, pages: Sequence[ConsolePage]) -> Iterator[None]:
    """Draw what is around a page; the block fills its middle."""
    ui.add_head_html('<link rel="stylesheet" href="/static/console.css"><script defer src="/static/shell.js"></script>')
    ui.page_title(f"{page.name} - Coincide")
    dark = ui.dark_mode({"dark": True, "light": False, "auto": None}[viewer.theme])
    dark.mark("dark")
    with ui.element("a").classes("skip").props('href="#content"'):
        ui.label("Skip to the content")
    with ui.element("header").classes("bar"):
        _navigation(page, pages)
        _switches(viewer, dark)
    _banner(viewer)
    with ui.element("div").classes("content").props('id=content tabindex="-1"'):  # NiceGUI has put a main around it
        yield


def _navigation(page: ConsolePage, pages: Sequence[ConsolePage]) -> None:
    with ui.element("a").classes("brand").props('href="/" aria-label="Coincide, now"'):
        ui.element("img").props('src="/static/mark.svg" alt="" width=24 height=24')
        ui.label("Coincide").classes("brand-name")
    with ui.element("nav").props('aria-label="Pages"'):
        for each in pages:
            link = ui.element("a").props(f'href="{each.path}"').classes("page-link")
            if each is page:
                link.props('aria-current="page"')
            with link:
                ui.label(each.name)


def _switches(viewer: Viewer, dark: ui.dark_mode) -> None:
    with ui.element("div").classes("switches"):
        other = "UTC" if viewer.clock == "local" else "local time"
        here = "UTC" if viewer.clock == "utc" else "Local"
        clock = ui.element("button").classes("quiet")
        clock.props("type=button data-clock")
        clock.props["aria-label"] = f"{here}: show times in {other}"
        clock.props["title"] = f"Times are in {viewer.times.name}; show {other}"
        with clock:
            ui.label(here)
        theme = ui.element("button").props('type=button data-theme aria-label="Dark or light"').classes("quiet")
        theme.on("click", lambda event: dark.set_value(bool(event.args)), js_handler=_IS_LIGHT)
        with theme.props('title="Dark or light"'):
            ui.label("◐").props("aria-hidden=true")
        if viewer.session.key is not None:
            with ui.element("form").props('method=post action="/sign-out"').classes("leave"):
                ui.label(viewer.session.caller.name).classes("who")
                with ui.element("button").props("type=submit").classes("quiet"):
                    ui.label("Sign out")


def _banner(viewer: Viewer) -> None:
    """Say while the services are away; look twice before it, for a page that opens has no connection yet."""
    banner = ui.element("div").classes("banner").props("role=status")
    banner.set_visibility(False)
    with banner:
        said = ui.label()
    shown = [0]

    def look() -> None:
        if not viewer.is_open():
            ui.navigate.to("/sign-in")
            return
        feed = viewer.feed
        why = feed.why_away or feed.why_ingest_away or "the live stream is being connected"
        is_well = feed.is_connected and feed.why_ingest_away is None
        shown[0] = 0 if is_well else shown[0] + 1
        banner.set_visibility(shown[0] > 1)
        said.set_text(f"Not connected: {why}. What you see is old; this page goes on by itself.")

    hold_while_open(viewer.feed)
    ui.timer(BANNER_EVERY_S, look)


class Held(Protocol):
    """What goes on only as long as a page is open."""

    def hold(self) -> None:
        """Go on until `release`."""

    def release(self) -> None:
        """End as soon as nobody holds it."""


def hold_while_open(what: Held) -> None:
    """Hold `what` from when the browser is connected until the page is gone for good."""
    held: list[bool] = []

    def hold() -> None:
        held.append(True)
        what.hold()

    def release() -> None:
        if held:
            what.release()

    ui.timer(0, hold, once=True)
    context.client.on_delete(release)


def show_fault(viewer: Viewer, error: RestError) -> None:
    """Say in a page, in place of what could not be shown, why not; the page opens anew once it may be shown."""
    with ui.element("section").classes("state fault").props("role=alert"):
        ui.label("This cannot be shown now" if error.is_away else "This cannot be shown").classes("state-title")
        ui.label(str(error))
        if error.is_away:
            ui.label("This page opens by itself as soon as it can.").classes("soft")
            with ui.element("a").props('href=""').classes("again"):
                ui.label("Try again")
    if error.is_away:
        open_anew_when(viewer, ("ingest", "/readyz"), ("alerting", "/readyz"))


def open_anew_when(viewer: Viewer, *answer: tuple[Service, str]) -> None:
    """Open the page again as soon as each of these GETs is answered well."""

    async def look() -> None:
        try:
            for service, path in answer:
                await viewer.rest.text(service, path)
        except RestError:
            return
        ui.navigate.reload()

    ui.timer(AGAIN_EVERY_S, look, immediate=False)


@contextmanager
def empty_state(title: str) -> Iterator[None]:
    """Say that there is nothing yet; the block says what to do next."""
    with ui.element("section").classes("state"):
        ui.label(title).classes("state-title")
        yield


class PageHead(ui.element):
    """The page's heading, which may change; tools may be put beside it."""

    def __init__(self, title: str) -> None:
        super().__init__("div")
        self.classes("row spread page-head")
        with self:
            self._title = Words("h1", title)

    def say(self, title: str) -> None:
        """Have it say something else, and the browser's tab too."""
        if title != self._title.text:
            self._title.set_text(title)
            ui.page_title(f"{title} - Coincide")


def page_head(title: str) -> PageHead:
    """Show the page's heading."""
    return PageHead(title)


def choice(label: str, options: Mapping[str, str], chosen: str, on_change: Callable[[str], Any]) -> None:
    """Show a list to choose one of `options`, which are words by value."""
    with ui.element("label").classes("choice"):
        ui.label(label).classes("choice-label")
        with ui.element("select").on("change", lambda event: on_change(event.args), js_handler=VALUE):
            for value, words in options.items():
                option = Words("option", words)
                option.props["value"] = value
                option.props["selected"] = value == chosen


def text_field(label: str, value: str, on_change: Callable[[str], Any], *, most: int = 200) -> None:
    """Show a field for a line of at most so many characters; `on_change` hears of each. One for many is wide."""
    with ui.element("label").classes("choice" if most <= 200 else "choice wide"):
        ui.label(label).classes("choice-label")
        field = ui.element("input").props(f"type=text maxlength={most} autocomplete=off")
        field.props["defaultValue"] = value  # `value` would be put back whenever the page draws something
        field.on("input", lambda event: on_change(str(event.args)), js_handler=VALUE)


def number_field(label: str, value: Any, on_change: Callable[[float | int | str | None], Any]) -> None:
    """Show a field for a number; `on_change` hears the number, None for nothing, or a text that is no number."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    shown = "" if value is None else f"{int(value) if is_whole else value}"
    text_field(label, shown, lambda text: on_change(_number_in(text)))


def _number_in(text: str) -> float | int | str | None:
    """Return the number that a text says; the text where it says none, so that its fault is told; None if empty."""
    said = text.strip()
    if not said:
        return None
    try:
        value = float(said)
    except ValueError:
        return said[:100]
    if not math.isfinite(value):
        return said
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def button(words: str, on_click: Callable[[], Any], *, kind: str = "quiet", label: str | None = None) -> ui.element:
    """Show a button; `label` says to screen readers what a sign means."""
    made = ui.element("button").props("type=button").classes(kind)
    if label is not None:
        made.props["title"] = label
        # Who speaks to the page says what stands on the button; a sign has no name of its own.
        made.props["aria-label"] = f"{words}: {label}" if words[0].isalnum() else label
    made.on("click", on_click)
    with made:
        ui.label(words)
    return made


def copy_button(text: str | Callable[[], str | Awaitable[str]], label: str = "Copy as curl", *, does: str = "") -> None:
    """Show a button that copies `text`, or shows it where the browser copies nothing; `does`: what a command does."""

    async def copy() -> None:
        try:
            told = text() if callable(text) else text
            said = told if isinstance(told, str) else await told
        except RestError as error:  # it cannot be asked yet
            said = str(error)
        try:
            is_copied = await ui.run_javascript(_COPY % json.dumps(said), timeout=COPIED_WITHIN_S)
        except TimeoutError:  # the browser asks whether it may, or the page has gone
            is_copied = False
        made.set_text("Copied" if is_copied else "Copy it from here:")
        shown.set_text("" if is_copied else said)
        shown.set_visibility(not is_copied)

    made = Words("button", label).props("type=button").classes("quiet")
    if does:
        made.props["title"] = f"{does}, as a command"
    made.on("click", copy)
    shown = Words("pre", "").props("tabindex=0")
    shown.set_visibility(False)


class RefusalNote(Protocol):
    """What says why a change is refused: a line, or the fields of a form."""

    def set_text(self, text: str) -> object:
        """Say it, or nothing any more."""


def change_button(
    viewer: Viewer,
    words: str,
    change: Callable[[], ChangeRequest],
    when_done: Callable[[Any], Awaitable[None]],
    refused: RefusalNote,
    *,
    kind: str = "quiet",
    label: str | None = None,
    meanwhile: str = "",
) -> None:
    """Show a button that makes a change, and one that copies the very same request; `change` may raise `RestError`.

    `when_done` hears the answer, and `refused` says why there is none; it says `meanwhile` until then, when
    another click does nothing.
    """
    at_work = asyncio.Lock()

    async def make() -> None:
        if at_work.locked():  # a second click before the first one is answered
            return
        refused.set_text(meanwhile)
        try:
            wanted = change()
            async with at_work:
                answer = await viewer.rest.make(wanted)
        except RestError as error:
            is_old = error.status == httpx2.codes.PRECONDITION_FAILED and "If-Match" in wanted.headers
            refused.set_text(CHANGED_MEANWHILE if is_old else str(error))
        else:
            refused.set_text("")
            await when_done(answer)

    button(words, make, kind=kind, label=label)
    copy_button(lambda: viewer.rest.command(change()), does=words)
