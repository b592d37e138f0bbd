"""The form of a receiver: a name, one way to tell it, and whether it hears of the system itself."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from nicegui import ui

from services.console.pages.field_faults import FieldFaults
from services.console.pages.shell import Words, button, change_button, choice, copy_button, text_field
from services.console.pages.viewer import Viewer
from services.console.rest.documents import WAYS, ReceiverAnswer
from services.console.rest.services import UNFIT, ChangeRequest, RestError, path_of

HEARS = {"yes": "alerts and system faults", "no": "alerts only"}
SECRET_BYTES = 24
LONGEST_URL, LONGEST_SECRET = 2000, 300
_HIDDEN = "***"  # alerting shows this in place of what may be a secret


class ReceiverForm:
    """A receiver as it shall be. `known` is the one that it takes the place of; None: it is new."""

    def __init__(
        self,
        viewer: Viewer,
        known: ReceiverAnswer | None,
        when_saved: Callable[[], Awaitable[None]],
        close: Callable[[], None],
    ) -> None:
        self._seen = {"If-None-Match": "*"} if known is None else {"If-Match": f'"{known.version}"'}
        self._viewer, self._is_new, self._when_saved, self._close = viewer, known is None, when_saved, close
        self._id, self._why = "" if known is None else known.id, ""
        self._system = known is None or known.system
        self._way, self._fields = "webhook", dict[str, Any]()
        self._faults = FieldFaults()
        if known is not None:
            self._way = known.way or self._way
            self._fields = {name: each for name, each in known.way_fields.items() if _HIDDEN not in f"{each}"}
        self._draw()

    def _draw(self) -> None:
        Words("h3", "New receiver" if self._is_new else f"Change {self._id}")
        with ui.element("div").classes("row"):
            if self._is_new:
                with self._faults.at("Name", "id|a name"):
                    text_field("Name", self._id, lambda text: setattr(self, "_id", text.strip()))
            choice("It is", {name: way.choice for name, way in WAYS.items()}, self._way, self._take_way)
            choice("It hears of", HEARS, "yes" if self._system else "no", self._take_hearing)
        self._particulars = ui.element("div").classes("stack")
        self._draw_particulars()
        row = ui.element("div").classes("row")
        self._faults.below()
        with row:
            text_field("Why (for the audit trail)", "", lambda text: setattr(self, "_why", text))
            change_button(self._viewer, "Save", self._change, self._saved, self._faults, kind="strong")
            button("Leave it", self._close)

    def _draw_particulars(self) -> None:
        """Draw what this way needs."""
        self._particulars.clear()
        with self._particulars:
            if not self._is_new:
                Words("p", "What may be secret is not shown: give it again.").classes("soft small")
            label = WAYS[self._way].url
            if label is None:
                shown = " ".join(self._fields.get("urls", []))
                with self._faults.at("Apprise URLs", r"people\.urls(?:\.\d+)?"):
                    text_field("Apprise URLs, with spaces between", shown, self._take_urls, most=LONGEST_URL)
                Words("p", "Such as mailto://user:password@example.org for e-mail.").classes("soft small")
                return
            with self._faults.at(label, rf"{self._way}\.url"):
                text_field(label, self._fields.get("url", ""), partial(self._put, "url"), most=LONGEST_URL)
            if self._way == "webhook":
                self._draw_secret()

    def _draw_secret(self) -> None:
        known = self._fields.get("secret", "")
        words = "Secret that signs each message"
        with self._faults.at(words, r"webhook\.secret"):
            text_field(words, known, partial(self._put, "secret"), most=LONGEST_SECRET)
        with ui.element("div").classes("row"):
            button("Make one", self._make_secret)
            if known:
                copy_button(lambda: str(self._fields.get("secret", "")), "Copy the secret")
            Words("span", "The receiver checks each message by the same secret; none: no message is signed.")

    def _take_way(self, way: str) -> None:
        self._way, self._fields = way, {}
        self._draw_particulars()

    def _take_hearing(self, hears: str) -> None:
        self._system = hears == "yes"

    def _take_urls(self, text: str) -> None:
        self._fields["urls"] = text.split()

    def _put(self, name: str, text: str) -> None:
        self._fields[name] = text.strip()

    def _make_secret(self) -> None:
        self._fields["secret"] = "whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        self._draw_particulars()

    @property
    def _body(self) -> dict[str, Any]:
        return {self._way: {name: each for name, each in self._fields.items() if each}, "system": self._system}

    def _change(self) -> ChangeRequest:
        """Return the request that saves the receiver; a `RestError` says what it lacks."""
        if not self._id:
            raise RestError("Give the receiver a name.", UNFIT)
        path = path_of("v1", "receivers", self._id)
        return ChangeRequest("PUT", "alerting", path, self._body, self._seen, why=self._why)

    async def _saved(self, _answer: Any) -> None:
        self._close()
        await self._when_saved()
