"""DocumentFields: the fields of a form, each of which is a member of the draft's document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from services.console.pages.field_faults import FieldFaults
from services.console.pages.queries.draft import Draft
from services.console.pages.shell import choice, number_field, text_field

LONGEST_LIST = 1000


class DocumentFields:
    """Fields over a draft; `redraw` draws the form anew where a change makes other fields of it.

    `faults` says at each what is wrong with its member.
    """

    def __init__(self, draft: Draft, redraw: Callable[[], None], faults: FieldFaults) -> None:
        self.draft, self.redraw, self.faults = draft, redraw, faults

    @property
    def document(self) -> dict[str, Any]:
        """The document as it is now."""
        return self.draft.document

    def get(self, *path: str | int) -> Any:
        """Return a member; None where there is none."""
        at: Any = self.document
        for part in path:
            try:
                at = at[part]
            except (KeyError, IndexError, TypeError):
                return None
        return at

    def at(self, label: str, *path: str | int) -> AbstractContextManager[None]:
        """Draw the field of a member; what is wrong with the member is said there."""
        return self.faults.at(label, re.escape(path_in_words(*path)))

    def put(self, *path: str | int, value: Any, redraw: bool = False) -> None:
        """Set a member; None takes it away, and what it was in, if nothing else is."""
        *parents, last = path
        if value is None:
            self._take_away(parents, last)
        else:
            at: Any = self.document
            for part in parents:
                at = at.setdefault(part, {}) if isinstance(at, dict) else at[part]
            at[last] = value
        self.changed(redraw=redraw)

    def _take_away(self, parents: list[str | int], last: str | int) -> None:
        holder = self.get(*parents)
        if isinstance(holder, dict):
            holder.pop(last, None)
            if not holder and parents:
                self._take_away(parents[:-1], parents[-1])

    def changed(self, *, redraw: bool = True) -> None:
        """Take over what was changed in the document."""
        self.draft.put(self.document)
        if redraw:
            self.redraw()
            self.faults.set_text("" if self.draft.fault is None else self.draft.fault.sentence)  # at the new fields

    def number(self, label: str, *path: str | int) -> None:
        """Show a field for a number."""
        with self.at(label, *path):
            number_field(label, self.get(*path), lambda number: self.put(*path, value=number))

    def text(self, label: str, *path: str | int) -> None:
        """Show a field for a text; an empty one is none."""
        known = self.get(*path)
        shown = "" if known is None else f"{known}"
        with self.at(label, *path):
            text_field(label, shown, lambda text: self.put(*path, value=text.strip() or None))

    def names(self, label: str, *path: str | int) -> None:
        """Show a field for names with commas between; nothing is no list."""
        known = self.get(*path)
        shown = ", ".join(map(str, known)) if isinstance(known, list) else "" if known is None else f"{known}"
        with self.at(label, *path):
            text_field(label, shown, lambda text: self.put(*path, value=names_in(text) or None), most=LONGEST_LIST)

    def one_of(
        self, label: str, options: Mapping[str, str], usual: str, *path: str | int, redraw: bool = False
    ) -> None:
        """Show a choice; the usual one is not written down."""
        known = self.get(*path)
        chosen = usual if known is None else f"{known}"
        offered = options if chosen in options else {**options, chosen: chosen}
        with self.at(label, *path):
            choice(label, offered, chosen, lambda value: self.put(*path, value=_unless(value, usual), redraw=redraw))


def path_in_words(*path: str | int) -> str:
    """Return how a fault names a member, such as within[0].threshold."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def names_in(text: str) -> list[str]:
    """Return the names in a text with commas between."""
    return [each.strip() for each in text.split(",") if each.strip()]


def _unless(value: str, usual: str) -> str | None:
    return None if value == usual else value
