"""The form of a query: roles, windows and thresholds of a join, or value, limits and length of a spell.

What a query has besides stays in its document, and the form names it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from nicegui import ui

from coincide.queries import Query
from services.console.drawing.role_graph import draw_role_graph
from services.console.pages.queries.alert_form import AlertForm
from services.console.pages.queries.draft import Draft
from services.console.pages.queries.known_names import KnownNames
from services.console.pages.queries.query_words import edges_of, read_query
from services.console.pages.shell import Words, button, choice, number_field, text_field

SENSORS = {"different": "different sensors", "same": "the same sensor", "any": "any sensors"}
SHAPES = {"": "as listed", "path": "a path", "clique": "every two of them", "graph": "a graph, checked"}
MOST_ROLES = 16
_OF_JOIN = {"id", "from", "within", "form", "sensors", "joint_threshold", "coalesce", "alert"}
_OF_SPELL = {"id", "coalesce", "lasting_s", "threshold", "alert"}
_LIMITS = {"above": "above", "at_least": "at least", "below": "below", "at_most": "at most"}


class QueryForm:
    """The form over a draft; each change of a field is one of the draft's document."""

    def __init__(self, draft: Draft, known: KnownNames) -> None:
        self._draft, self._known, self._streams = draft, known, known.streams
        self._box = ui.element("div").classes("stack query-form")
        self.draw()

    def draw(self) -> None:
        """Draw the draft's document."""
        self._box.clear()
        document = self._draft.document
        with self._box:
            if isinstance(document.get("within"), list) and isinstance(document.get("from"), dict):
                self._join(document)
                self._alert(document, is_join=True)
                self._say_more(document, _OF_JOIN)
            elif isinstance(document.get("coalesce"), dict) and "lasting_s" in document:
                self._spell(document)
                self._alert(document, is_join=False)
                self._say_more(document, _OF_SPELL)
            else:
                Words("p", "The form does not show this kind of query: change it as JSON or SQL.").classes("soft")

    def _alert(self, document: dict[str, Any], *, is_join: bool) -> None:
        AlertForm(
            document.get("alert"), self._known.receivers, lambda rule: self._put("alert", value=rule), is_join=is_join
        )

    def _say_more(self, document: dict[str, Any], known: set[str]) -> None:
        more = sorted(set(document) - known)
        if more:
            Words("p", f"The query has besides: {', '.join(more)}. The JSON shows it.").classes("soft small")

    def _put(self, *path: str | int, value: Any, redraw: bool = False) -> None:
        """Set a member of the document; None takes it away."""
        at: Any = self._draft.document
        for part in path[:-1]:
            at = at[part]
        if value is None:
            at.pop(path[-1], None)
        else:
            at[path[-1]] = value
        self._draft.put(self._draft.document)
        if redraw:
            self.draw()

    def _number(self, label: str, value: Any, *path: str | int) -> None:
        number_field(label, value, lambda number: self._put(*path, value=number))

    def _join(self, document: dict[str, Any]) -> None:
        self._roles(document["from"])
        edges = [each for each in document["within"] if isinstance(each, dict)]
        for nth, edge in enumerate(edges):
            self._edge(nth, edge, list(document["from"]), is_only=len(edges) == 1)
        with ui.element("div").classes("row"):
            if len(document["from"]) > 2:
                button("Add a window", lambda: self._add_edge(document))
                choice("Windows are between", SHAPES, str(document.get("form", "")), self._reshape)
            choice("Members come from", SENSORS, str(document.get("sensors", "different")), self._take_sensors)
        with ui.element("div").classes("row"):
            self._number("All together at least", document.get("joint_threshold"), "joint_threshold")
            gap = (document.get("coalesce") or {}).get("gap_s")
            number_field("One episode while gaps are below, s", gap, self._take_gap)

    def _roles(self, roles: dict[str, Any]) -> None:
        for nth, (role, source) in enumerate(list(roles.items())):
            with ui.element("div").classes("row query-role"):
                text_field(f"Role {nth + 1}", role, partial(self._rename, nth))
                known = source.get("stream", "") if isinstance(source, dict) else str(source)
                offered = {each: each for each in dict.fromkeys(["", known, *self._streams])}
                choice("plays stream", offered, known, partial(self._restream, nth))
                if isinstance(source, dict) and len(source) > 1:
                    Words("span", "only some of its detections").classes("soft small")
                if len(roles) > 2:
                    button("✕", partial(self._drop_role, role), label=f"Leave out the role {role}")
        if len(roles) < MOST_ROLES:
            button("Add a role", self._add_role)

    def _edge(self, nth: int, edge: dict[str, Any], roles: list[str], *, is_only: bool) -> None:
        with ui.element("div").classes("row query-edge"):
            between = edge.get("between")
            if isinstance(between, list) and len(between) == 2:
                offered = {each: each for each in dict.fromkeys([*map(str, between), *roles])}
                for side, label in enumerate(("Between", "and")):
                    put = self._between(nth, side)
                    choice(label, offered, str(between[side]), put)
            else:
                Words("span", "Between all of them")
            if "lo_s" in edge or "hi_s" in edge:
                self._number("from, s", edge.get("lo_s"), "within", nth, "lo_s")
                self._number("to, s", edge.get("hi_s"), "within", nth, "hi_s")
            else:
                self._number("at most so far apart, s", edge.get("window_s"), "within", nth, "window_s")
            self._number("with probability at least", edge.get("threshold"), "within", nth, "threshold")
            if not is_only:
                button("✕", lambda: self._drop_edge(nth), label=f"Leave out window {nth + 1}")

    def _between(self, nth: int, side: int) -> Callable[[str], None]:
        return lambda role: self._put("within", nth, "between", side, value=role)

    def _rename(self, nth: int, name: str) -> None:
        """Give a role another name, in the windows, too."""
        document = self._draft.document
        roles = list(document["from"].items())
        was = roles[nth][0]
        if name in document["from"] and name != was:
            return  # two roles of one name would be one; the field keeps what was typed until it differs
        roles[nth] = (name, roles[nth][1])
        document["from"] = dict(roles)
        for edge in document["within"]:
            if isinstance(edge.get("between"), list):
                edge["between"] = [name if each == was else each for each in edge["between"]]
        self._draft.put(document)

    def _restream(self, nth: int, stream: str) -> None:
        roles = self._draft.document["from"]
        role = list(roles)[nth]
        source = roles[role]
        self._put("from", role, value={**source, "stream": stream} if isinstance(source, dict) else stream)

    def _add_role(self) -> None:
        roles, edges = self._draft.document["from"], self._draft.document["within"]
        name = next(each for each in (*"abcdefghijklmnop", "q", "r") if each not in roles)
        if edges and "between" in edges[-1]:
            last = list(roles)[-1]
            edges.append({**edges[-1], "between": [last, name]})
        roles[name] = ""
        self._draft.document.pop("form", None) if "between" in edges[-1] else None
        self._draft.put(self._draft.document)
        self.draw()

    def _drop_role(self, role: str) -> None:
        document = self._draft.document
        document["from"].pop(role, None)
        document["within"] = [each for each in document["within"] if role not in each.get("between", [])]
        self._draft.put(document)
        self.draw()

    def _add_edge(self, document: dict[str, Any]) -> None:
        first, *_, last = document["from"]
        document["within"].append({"between": [first, last], "window_s": 2, "threshold": 0.6})
        self._draft.put(document)
        self.draw()

    def _drop_edge(self, nth: int) -> None:
        del self._draft.document["within"][nth]
        self._draft.put(self._draft.document)
        self.draw()

    def _reshape(self, shape: str) -> None:
        """Give a path or clique one window for all, the first; any other shape has each listed."""
        document = self._draft.document
        first = {name: each for name, each in document["within"][0].items() if name != "between"}
        if shape in {"path", "clique"}:
            document["within"] = [first]
        elif "between" not in document["within"][0]:
            roles = list(document["from"])
            document["within"] = [{"between": list(two), **first} for two in pairwise(roles)]
        self._put("form", value=shape or None, redraw=True)

    def _take_sensors(self, rule: str) -> None:
        self._put("sensors", value=None if rule == "different" else rule)

    def _take_gap(self, gap: float | str | None) -> None:
        coalesce = {**(self._draft.document.get("coalesce") or {}), "gap_s": gap}
        self._put("coalesce", value=None if gap is None else coalesce)

    def _spell(self, document: dict[str, Any]) -> None:
        coalesce = document["coalesce"]
        where = coalesce.get("where") if isinstance(coalesce.get("where"), dict) else {}
        with ui.element("div").classes("row"):
            known = str(coalesce.get("from", ""))
            offered = {each: each for each in dict.fromkeys([known, *self._streams])}
            choice("Stream", offered, known, lambda stream: self._put("coalesce", "from", value=stream))
            value = str(coalesce.get("value", ""))
            text_field("What is read", value, lambda text: self._put("coalesce", "value", value=text))
        with ui.element("div").classes("row"):
            for name, words in _LIMITS.items():
                number_field(words, where.get(name), partial(self._limit, name))
        with ui.element("div").classes("row"):
            self._number("for at least, s", document.get("lasting_s"), "lasting_s")
            self._number("with probability at least", document.get("threshold"), "threshold")
            self._number("a reading is good for, s", coalesce.get("hold_s"), "coalesce", "hold_s")

    def _limit(self, name: str, limit: float | str | None) -> None:
        where = {**(self._draft.document["coalesce"].get("where") or {}), name: limit}
        kept = {each: value for each, value in where.items() if value is not None}
        self._put("coalesce", "where", value=kept or None)


def draw_roles(draft: Draft) -> None:
    """Draw the roles of the draft as a graph, where they are a join that can be read."""
    query = read_query(draft.id or "new", draft.document)
    if isinstance(query, Query):
        draw_role_graph(query.roles, edges_of(query))
