"""Queries in words: what is asked, in which state it is, and what a version changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from coincide import Window
from coincide.errors import CoincideError
from coincide.queries import AnyQuery, Kind, Query, ReadingsQuery, SpellQuery, query_from_json
from services.console.drawing.role_graph import DrawnEdge
from services.console.pages.time_words import duration, probability
from services.console.rest.query_answers import QueryAnswer

Document = Mapping[str, Any]


def read_query(id_: str, document: Document) -> AnyQuery | None:
    """Return the query; None where the document is none."""
    try:
        return query_from_json({**document, "id": id_})
    except CoincideError:
        return None


def asked(id_: str, document: Document) -> str:
    """Return in a line what a query asks."""
    query = read_query(id_, document)
    return "written by a newer version" if query is None else WORDS.get(query.kind, _plain_words)(query)


def _plain_words(query: AnyQuery) -> str:
    return f"{query.kind} of {' + '.join(query.streams)}"


def _join_words(query: Query) -> str:
    streams = " + ".join(query.streams)
    together = "" if query.joint_threshold is None else f", together at least {probability(query.joint_threshold)}"
    words = sorted({each.words for each in edges_of(query)})
    return f"{streams}: {' or '.join(words[:3])}{' ...' if len(words) > 3 else ''}{together}"


def _readings_words(query: ReadingsQuery | SpellQuery) -> str:
    lasting_s = query.to_json().get("lasting_s")
    lasting = f", lasting {duration(lasting_s)}" if isinstance(lasting_s, int | float) else ""
    return f"{query.kind} of {query.value} in {query.stream}{lasting}"


WORDS: Mapping[Kind, Callable[[Any], str]] = {
    "join": _join_words,
    "windows": _readings_words,
    "spells": _readings_words,
}


def edges_of(query: Query) -> list[DrawnEdge]:
    """Return the windows between roles, in words."""
    return [
        DrawnEdge((each.first, each.second), f"{_within(each.window)}{_at_least(each.threshold)}")
        for each in query.within
    ]


def _within(window: Window) -> str:
    if window.lo_s == -window.hi_s:
        return f"within {duration(window.hi_s)}"
    return f"{duration(window.lo_s)} to {duration(window.hi_s)} later"


def _at_least(threshold: float | None) -> str:
    return "" if threshold is None else f", at least {probability(threshold)}"


def state_of(query: QueryAnswer) -> str:
    """Return in a word or two whether a query works."""
    if query.suspended:
        return "Suspended"
    if query.paused:
        return "Paused"
    return "Running" if query.applied_version == query.version else "Waiting for fusion"


def suspensions(query: QueryAnswer) -> Iterator[str]:
    """Yield why a query is suspended, a sentence for each place."""
    for each in query.suspended:
        where = "everywhere" if each.everywhere or each.area is None else f"in {each.area}"
        if each.allowed is None or each.reached is None:
            yield f"Suspended {where}: it needed more {each.limit} than there was."
        else:
            yield f"Suspended {where}: {each.limit} allows {each.allowed:g}, and {each.reached:g} were reached."


def changes_between(older: Document | None, newer: Document | None, path: str = "") -> list[str]:
    """Return what differs between two documents, a line for each member."""
    if newer is None:
        return ["removed"]
    if older is None:
        return ["created"]
    lines = []
    for name in sorted({*older, *newer}):
        was, now, at = older.get(name), newer.get(name), f"{path}{name}"
        if was == now:
            continue
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            lines += changes_between(was, now, f"{at}.")
        elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
            lines += changes_between(_numbered(was), _numbered(now), at)
        else:
            lines.append(f"{at}: {_shown(was)} → {_shown(now)}")
    return lines


def _numbered(values: list[Any]) -> Document:
    return {f"[{nth}]": each for nth, each in enumerate(values)}


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"{value}"[:120]
