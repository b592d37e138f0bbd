"""The roles of a query as a graph: a circle for each role, a line for each window, with its length and threshold.

Words stand in the picture as long as none covers another; else they are said below it, by numbers on the lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

WIDE, EDGE = 460, 4  # of the picture, and what stays free at its sides
LETTER, LINE = 6.0, 13  # how wide a letter is about, and how tall a line of words
LONGEST_STREAM = 24
_SHARES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.45, 0.55, 0.35, 0.65)  # of an edge: where words may stand, best first
_RADII = ((8, 30.0), (12, 22.0), (math.inf, 17.0))  # up to so many roles
At = tuple[float, float]


class _Text(TextElement):
    def __init__(self, x: float, y: float, text: str, kind: str) -> None:
        super().__init__(tag="text", text=text)
        self.classes(kind).props("text-anchor=middle")
        self.props["x"], self.props["y"] = f"{x:.1f}", f"{y:.1f}"


@dataclass(frozen=True)
class DrawnEdge:
    """Two roles, and what stands on the line between them."""

    between: tuple[str, str]
    words: str


@dataclass(frozen=True)
class WordPlace:
    """Where words stand: the middle of their base line, and how far they reach."""

    words: str
    x: float
    y: float
    wide: float
    tall: float = LINE

    def overlaps(self, other: WordPlace) -> bool:
        """Whether the two cover each other in part."""
        is_beside = abs(self.x - other.x) >= (self.wide + other.wide) / 2
        return not is_beside and self.y - self.tall < other.y and other.y - other.tall < self.y


@dataclass(frozen=True)
class GraphLayout:
    """Where everything stands; `below` is what is said below the picture."""

    tall: float
    circles: Sequence[WordPlace]
    streams: Sequence[WordPlace]
    edges: Sequence[WordPlace]
    below: Sequence[str]


def draw_role_graph(roles: Sequence[tuple[str, str]], edges: Sequence[DrawnEdge]) -> None:
    """Draw roles, each with its stream, on an ellipse, and the edges between them."""
    names = {role for role, _ in roles}
    drawn = [each for each in edges if names.issuperset(each.between)]
    layout = layout_of(roles, drawn)
    at = {role: (each.x, each.y - each.tall / 2) for (role, _), each in zip(roles, layout.circles, strict=True)}
    picture = ui.element("svg").classes("role-graph").props(f'viewBox="0 0 {WIDE} {layout.tall:g}" role=img')
    picture.props["aria-label"] = _said(roles, edges)
    with picture:
        for each in drawn:
            _line(*(at[role] for role in each.between))
        for place in layout.edges:
            _Text(place.x, place.y, place.words, "edge-words")
        for place in layout.circles:
            _role(place)
        for place in layout.streams:
            _Text(place.x, place.y, place.words, "stream-name")
    if layout.below:
        with ui.element("ul").classes("role-words soft small").props("aria-hidden=true"):  # the picture's name says it
            for line in layout.below:
                TextElement(tag="li", text=line)


def layout_of(roles: Sequence[tuple[str, str]], edges: Sequence[DrawnEdge]) -> GraphLayout:
    """Return where the words of roles and edges stand: apart from each other, and within the picture.

    The stream of a role in the upper half stands above it, out of the way of an edge that leads down.
    """
    tall, radius = _size(len(roles))
    at = {role: _place(nth, len(roles), tall, radius) for nth, (role, _) in enumerate(roles)}
    circles = [WordPlace(_short(role, radius), x, y + radius, 2 * radius, 2 * radius) for role, (x, y) in at.items()]
    wanted = [_beside(stream[:LONGEST_STREAM], at[role], tall, radius) for role, stream in roles]
    streams = _placed(wanted, circles)
    below = [] if streams is not None else [f"{', '.join(of)}: {stream}" for stream, of in _by_stream(roles).items()]
    taken = [*circles, *(streams or ())]
    words, said = _on_lines(edges, at, taken)
    return GraphLayout(tall, circles, streams or (), words, [*below, *said])


def _on_lines(
    edges: Sequence[DrawnEdge], at: Mapping[str, At], taken: Sequence[WordPlace]
) -> tuple[Sequence[WordPlace], list[str]]:
    """Return what stands on the lines, and what is said below: the words, or numbers of them, or the pairs of each."""

    def on(words: Mapping[str, str]) -> list[WordPlace] | None:
        return _placed([_along(words[each.words], *(at[role] for role in each.between)) for each in edges], taken)

    if (places := on({each.words: each.words for each in edges})) is not None:
        return places, []
    numbers = {words: f"{nth}" for nth, words in enumerate(dict.fromkeys(each.words for each in edges), 1)}
    if len(numbers) == 1:
        return (), [f"each line: {edges[0].words}"]
    if (places := on(numbers)) is not None:
        return places, [f"{number}: {words}" for words, number in numbers.items()]
    pairs = {words: [" to ".join(each.between) for each in edges if each.words == words] for words in numbers}
    return (), [f"{', '.join(of)}: {words}" for words, of in pairs.items()]


def _placed(wanted: Sequence[Iterator[WordPlace]], taken: Sequence[WordPlace]) -> list[WordPlace] | None:
    """Return for each the first place that is free; None where one finds none."""
    placed: list[WordPlace] = []
    for places in wanted:
        free = (each for each in places if not any(map(each.overlaps, [*taken, *placed])))
        found = next(free, None)
        if found is None:
            return None
        placed.append(found)
    return placed


def _along(words: str, begin: At, end: At) -> Iterator[WordPlace]:
    """Yield where words may stand on a line, the best first."""
    (x0, y0), (x1, y1) = begin, end
    for share in _SHARES:
        yield _within(words, x0 + share * (x1 - x0), y0 + share * (y1 - y0) - 5)


def _beside(stream: str, at: At, tall: float, radius: float) -> Iterator[WordPlace]:
    """Yield where a stream may stand beside its role."""
    x, y = at
    above, below = y - radius - 6, y + radius + 16
    for base in (above, below) if y < tall / 2 - 1 else (below, above):
        yield _within(stream, x, base)


def _within(words: str, x: float, y: float) -> WordPlace:
    """Return words at x, or beside it where they would leave the picture."""
    wide = LETTER * len(words)
    most = WIDE - EDGE - wide / 2
    return WordPlace(words, max(min(x, most), EDGE + wide / 2), y, wide)


def _size(count: int) -> tuple[float, float]:
    """Return how tall the picture of so many roles is, and the radius of a role."""
    tall = 250.0 if count <= 3 else min(200.0 + 25 * count, 460.0)
    radius = next(radius for most, radius in _RADII if count <= most)
    return tall, radius


def _place(nth: int, count: int, tall: float, radius: float) -> At:
    """Two stand beside each other, more of them on an ellipse."""
    angle = math.pi + 2 * math.pi * nth / max(count, 1)
    across, down = WIDE / 2 - radius - 24, (0.0 if count <= 2 else tall / 2 - radius - 20)
    return WIDE / 2 + across * math.cos(angle), tall / 2 + down * math.sin(angle)


def _line(begin: At, end: At) -> None:
    line = ui.element("line")
    for name, value in zip(("x1", "y1", "x2", "y2"), (*begin, *end), strict=True):
        line.props[name] = f"{value:.1f}"


def _role(place: WordPlace) -> None:
    circle = ui.element("circle")
    radius = place.tall / 2
    for name, value in (("cx", place.x), ("cy", place.y - radius), ("r", radius)):
        circle.props[name] = f"{value:.1f}"
    _Text(place.x, place.y - radius + 5, place.words, "role-name")


def _short(name: str, radius: float) -> str:
    letters = int(2 * radius / 7)  # its letters are larger than those of a stream
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def _by_stream(roles: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {stream: [role for role, plays in roles if plays == stream] for _, stream in roles}


def _said(roles: Sequence[tuple[str, str]], edges: Sequence[DrawnEdge]) -> str:
    parts = [f"{role}: {stream}" for role, stream in roles]
    return "; ".join([*parts, *(f"{each.between[0]} to {each.between[1]}: {each.words}" for each in edges)])
