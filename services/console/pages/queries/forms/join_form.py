"""The form of a join: roles and which detections play them, windows and thresholds, and what else a match needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

from nicegui import ui

from coincide.queries.fields.checks import attribute_name, attribute_path
from services.console.pages.queries.forms.document_fields import DocumentFields, names_in
from services.console.pages.queries.forms.event_form import draw_event
from services.console.pages.queries.forms.role_filter_form import RoleFilterForm
from services.console.pages.shell import Words, button, choice, number_field, text_field

SENSORS = {"different": "different sensors", "same": "the same sensor", "any": "any sensors"}
SHAPES = {"": "as listed", "path": "a path", "clique": "every two of them", "graph": "a graph, checked"}
INTERVALS = {"": "usual", "occurred": "when it occurred", "hull": "all times that can be"}
UNREACHABLE = {"": "refuse it", "allow": "take it all the same"}
LIMITS = {
    "max_matches_per_s": "matches in a second",
    "max_matches_per_detection": "matches of one detection",
    "max_candidates_per_detection": "candidates of one detection",
}
MOST_ROLES = 16
_MORE = ("areas", "limits", "unreachable")


class JoinForm:
    """The fields of a join."""

    asks_probability: ClassVar[bool] = True

    def __init__(self, fields: DocumentFields, streams: Sequence[str]) -> None:
        self._fields, self._streams = fields, streams

    @classmethod
    def shows(cls, document: Mapping[str, Any]) -> bool:
        """Whether a draft can be shown by it, which need be no query yet."""
        roles, windows = document.get("from"), document.get("within")
        are_there = isinstance(roles, dict) and isinstance(windows, list) and bool(roles) and bool(windows)
        return are_there and all(isinstance(each, dict) for each in windows or ())

    @property
    def _document(self) -> dict[str, Any]:
        return self._fields.document

    def draw(self) -> None:
        """Draw the fields."""
        document, fields = self._document, self._fields
        self._roles(document["from"])
        for nth, edge in enumerate(document["within"]):
            self._edge(nth, edge, list(document["from"]), is_only=len(document["within"]) == 1)
        with ui.element("div").classes("row"):
            if len(document["from"]) > 2:
                button("Add a window", self._add_edge)
                choice("Windows are between", SHAPES, str(document.get("form", "")), self._reshape)
            fields.one_of("Members come from", SENSORS, "different", "sensors")
        with ui.element("div").classes("row"):
            fields.number("Probability of all together at least", "joint_threshold")
            if len(document["from"]) > 2:
                self._enough()
        with ui.element("div").classes("row"):
            equal = attribute_name(str(document.get("equal", "")))
            with fields.at("Attribute that is equal in all", "equal"):
                text_field("Attribute that is equal in all", equal, self._take_equal)
        draw_event(fields)
        self._episodes()
        self._more()

    def _roles(self, roles: dict[str, Any]) -> None:
        faults = self._fields.faults
        for nth, (role, source) in enumerate(list(roles.items())):
            with ui.element("div").classes("row query-role"):
                words = f"Role {nth + 1}"
                with faults.at(words, partial(self._path_of_name, nth)):
                    text_field(words, role, partial(self._rename, nth))
                known = str(source.get("stream", "")) if isinstance(source, dict) else str(source)
                offered = {each: each for each in dict.fromkeys(["", known, *self._streams])}
                with faults.at("plays stream", partial(self._path_of_stream, nth)):
                    choice("plays stream", offered, known, partial(self._restream, nth))
                with faults.at(f"Which detections play {role}", partial(self._path_of_filter, nth)):
                    RoleFilterForm(role, source, partial(self._replace_source, nth))
                if len(roles) > 2:
                    button("✕", partial(self._drop_role, role), label=f"Leave out the role {role}")
        if len(roles) < MOST_ROLES:
            button("Add a role", self._add_role)

    def _path_of_name(self, nth: int) -> str:
        return rf"Role {nth + 1}|from has the role '{self._escaped_role(nth)}'"

    def _path_of_stream(self, nth: int) -> str:
        return rf"from\.{self._escaped_role(nth)}(?:\.stream)?(?!\.)"

    def _path_of_filter(self, nth: int) -> str:
        return rf"from\.{self._escaped_role(nth)}\.(?:sensors|areas|where)[\w.\[\]-]*"

    def _escaped_role(self, nth: int) -> str:
        names = list(self._document["from"])
        return re.escape(str(names[nth])) if nth < len(names) else "(?!)"  # of a field that is about to go

    def _edge(self, nth: int, edge: dict[str, Any], roles: list[str], *, is_only: bool) -> None:
        number = self._fields.number
        with ui.element("div").classes("row query-edge"):
            between = edge.get("between")
            if isinstance(between, list) and len(between) == 2:
                offered = {each: each for each in dict.fromkeys([*map(str, between), *roles])}
                with self._fields.at("Between", "within", nth, "between"), ui.element("div").classes("row"):
                    for side, label in enumerate(("Between", "and")):
                        choice(label, offered, str(between[side]), partial(self._take_between, nth, side))
            else:
                Words("span", "Between all of them")
            if "lo_s" in edge or "hi_s" in edge:
                number("from, s", "within", nth, "lo_s")
                number("to, s", "within", nth, "hi_s")
            else:
                number("at most so far apart, s", "within", nth, "window_s")
            number("with probability at least", "within", nth, "threshold")
            button("⇄", partial(self._change_bounds, nth), label="One after the other, or near each other")
            if not is_only:
                button("✕", partial(self._drop_edge, nth), label=f"Leave out window {nth + 1}")

    def _enough(self) -> None:
        """Show how many members are enough, and which roles may be absent."""
        known = self._document.get("at_least")
        count = known.get("count") if isinstance(known, dict) else known
        of = ", ".join(map(str, known.get("of", []))) if isinstance(known, dict) else ""
        with self._fields.at("So many are enough", "at_least"):
            number_field("So many are enough", count, lambda number: self._take_enough(count=number))
        text_field("of the roles (none: all)", of, lambda text: self._take_enough(of=names_in(text)))

    def _take_enough(self, **given: Any) -> None:
        known = self._document.get("at_least")
        was = dict(known) if isinstance(known, dict) else {"count": known, "of": []}
        now = {**was, **given}
        value = now if now["of"] else now["count"]
        self._fields.put("at_least", value=None if now["count"] is None else value)

    def _episodes(self) -> None:
        gap_s = self._fields.get("coalesce", "gap_s")
        with ui.element("div").classes("row"):
            with self._fields.at("One episode while gaps are below, s", "coalesce", "gap_s"):
                number_field("One episode while gaps are below, s", gap_s, self._take_gap)
            if gap_s is not None:
                self._fields.names("one for each (a.sensor, a.attributes.kind)", "coalesce", "by")
                self._fields.one_of("A match lasts", INTERVALS, "", "coalesce", "interval")

    def _more(self) -> None:
        fields = self._fields
        with ui.element("details") as more:
            Words("summary", "Areas and limits")
            with ui.element("div").classes("stack"):
                fields.names("Areas (none: all)", "areas")
                for name, words in LIMITS.items():
                    fields.number(f"Suspend it beyond so many {words}", "limits", name)
                fields.one_of("A threshold that no sensors reach", UNREACHABLE, "", "unreachable")
        if any(name in self._document for name in _MORE):
            more.props("open")

    def _take_between(self, nth: int, side: int, role: str) -> None:
        self._fields.put("within", nth, "between", side, value=role)

    def _take_equal(self, name: str) -> None:
        self._fields.put("equal", value=attribute_path(name.strip()) if name.strip() else None)

    def _take_gap(self, gap_s: float | str | None) -> None:
        had_gap = self._fields.get("coalesce", "gap_s") is not None
        if gap_s is None:
            self._fields.put("coalesce", value=None, redraw=True)
        else:
            self._fields.put("coalesce", "gap_s", value=gap_s, redraw=not had_gap)

    def _change_bounds(self, nth: int) -> None:
        """Give the window two bounds in place of one, or one in place of two."""
        edge = self._document["within"][nth]
        if "window_s" in edge:
            edge["lo_s"], edge["hi_s"] = 0, edge.pop("window_s")
        else:
            edge.pop("lo_s", None)
            edge["window_s"] = edge.pop("hi_s", None) or 2
        self._fields.changed()

    def _rename(self, nth: int, name: str) -> None:
        """Give a role another name, in the windows, too."""
        document = self._document
        roles = list(document["from"].items())
        was = roles[nth][0]
        if name in document["from"] and name != was:
            said = f"Role {nth + 1} would be {name!r}, as another one: give it a name of its own"
            self._fields.draft.refuse(said)
            return
        roles[nth] = (name, roles[nth][1])
        document["from"] = dict(roles)
        for edge in document["within"]:
            if isinstance(edge.get("between"), list):
                edge["between"] = [name if each == was else each for each in edge["between"]]
        self._fields.changed(redraw=False)

    def _restream(self, nth: int, stream: str) -> None:
        source = list(self._document["from"].values())[nth]
        self._replace_source(nth, {**source, "stream": stream} if isinstance(source, dict) else stream)

    def _replace_source(self, nth: int, source: Any) -> None:
        self._fields.put("from", list(self._document["from"])[nth], value=source)

    def _add_role(self) -> None:
        document = self._document
        roles, edges = document["from"], document["within"]
        name = next(each for each in "abcdefghijklmnopqr" if each not in roles)
        if "between" in edges[-1]:
            edges.append({**edges[-1], "between": [list(roles)[-1], name]})
            document.pop("form", None)
        roles[name] = ""
        self._fields.changed()

    def _drop_role(self, role: str) -> None:
        document = self._document
        document["from"].pop(role, None)
        others = [each for each in document["within"] if role not in each.get("between", [])]
        if not others:  # what is left is still asked for
            others = [{**document["within"][0], "between": list(document["from"])[:2]}]
        document["within"] = others
        self._fields.changed()

    def _add_edge(self) -> None:
        first, *_, last = self._document["from"]
        self._document["within"].append({"between": [first, last], "window_s": 2, "threshold": 0.6})
        self._fields.changed()

    def _drop_edge(self, nth: int) -> None:
        del self._document["within"][nth]
        self._fields.changed()

    def _reshape(self, shape: str) -> None:
        """Give a path or clique one window for all, the first; any other shape has each listed."""
        document = self._document
        first = {name: each for name, each in document["within"][0].items() if name != "between"}
        if shape in {"path", "clique"}:
            document["within"] = [first]
        elif "between" not in document["within"][0]:
            roles = list(document["from"])
            document["within"] = [{"between": list(two), **first} for two in pairwise(roles)]
        self._fields.put("form", value=shape or None, redraw=True)
