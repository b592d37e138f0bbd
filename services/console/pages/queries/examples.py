"""Examples of queries, each of which a new query can begin with."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from nicegui import ui

from services.console.pages.queries.known_names import KnownNames
from services.console.pages.shell import Words

_STREAM = "a stream"  # each example plays with the stream that has the most sensors
_ALIKE = {"a": _STREAM, "b": _STREAM, "c": _STREAM}


class Example(NamedTuple):
    """A query as a beginning: what it asks, in a few words and in a sentence."""

    title: str
    sentence: str
    document: dict[str, Any]


EXAMPLES: Mapping[str, Example] = {
    "pair": Example(
        "Two at once",
        "Two sensors report something, and by their clocks it was within 2 s.",
        {
            "from": {"a": _STREAM, "b": _STREAM},
            "within": [{"between": ["a", "b"], "window_s": 2, "threshold": 0.6}],
        },
    ),
    "two-of-three": Example(
        "Two of three",
        "Three sensors listen, and two of them are enough. What belongs together is one episode.",
        {
            "from": _ALIKE,
            "form": "clique",
            "within": [{"window_s": 2}],
            "joint_threshold": 0.3,
            "at_least": 2,
            "coalesce": {"gap_s": 2},
        },
    ),
    "path": Example(
        "One after the other",
        "Something passes three sensors in turn, each within 10 s of the one before.",
        {"from": _ALIKE, "form": "path", "within": [{"lo_s": 0, "hi_s": 10, "threshold": 0.5}]},
    ),
    "lasting": Example(
        "It lasts",
        "A sensor reads more than a limit for a minute or longer. It is told once.",
        {
            "coalesce": {"from": _STREAM, "value": "attributes.celsius", "where": {"above": 40}, "hold_s": 30},
            "lasting_s": 60,
        },
    ),
    "longest": Example(
        "The longest time of each hour",
        "Every hour: how long each sensor read more than a limit without a break, within the last day.",
        {
            "coalesce": {
                "from": _STREAM,
                "value": "attributes.celsius",
                "where": {"above": 40},
                "window": {"time_s": 86_400, "slide_s": 3600},
            },
            "longest": True,
        },
    ),
}


def document_of(name: str, known: KnownNames) -> dict[str, Any]:
    """Return the document of an example, the first one where there is none of the name, with a stream that is there."""
    document = deepcopy(EXAMPLES.get(name, EXAMPLES["pair"]).document)
    if "from" in document:
        document["from"] = dict.fromkeys(document["from"], known.busiest_stream)
    else:
        document["coalesce"]["from"] = known.busiest_stream
    return document


def show_examples() -> None:
    """Show a link to each example."""
    with ui.element("ul").classes("examples"):
        for name, example in EXAMPLES.items():
            with ui.element("li"):
                link = ui.element("a")
                link.props["href"] = f"/queries?new={name}"
                with link:
                    ui.label(example.title)
                Words("span", f" {example.sentence}").classes("soft")
