"""RouteTable: which route a request is for. Scope, answer and `Allow` go by this one parse of its path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, Self

_CONTROLS = r"\x00-\x1f\x7f-\x9f"
_CONTROL = re.compile(f"[{_CONTROLS}]")
#: What stands for one thing in a path, as documents say it.
IN_PATH = f"^[^{_CONTROLS}]+$"


class PathRoute(NamedTuple):
    """A route: the paths that it takes, how they are written with names for what varies, and its methods."""

    pattern: re.Pattern[str]
    template: str
    methods: frozenset[str]

    @classmethod
    def of(cls, template: str, *methods: str) -> Self:
        """Return the route of a template such as ``/v1/history-runs/{id}``; what varies is no slash."""
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
        return cls(re.compile(pattern), template, frozenset(methods))


def why_not_path(path: str) -> str | None:
    """Return why a path, with its percent-encoding undone, is none; None where it may be one.

    ``$`` fits before a newline at the end, and much else takes a control character for something that it is not. No
    route has one, so whoever sends it looks for a way around.
    """
    found = _CONTROL.search(path)
    return None if found is None else f"the path has the control character %{ord(found[0]):02X}, which is in no path"


class RouteTable:
    """The routes of a component, in the order in which they are tried."""

    def __init__(self, routes: Iterable[PathRoute]) -> None:
        self._routes = tuple(routes)
        fixed = [each for each in self._routes if "{" not in each.template]
        self._known = {
            (method, each.template): self._first(method, each.template) for each in fixed for method in each.methods
        }

    def templates(self) -> list[str]:
        """Return how each route is written."""
        return [each.template for each in self._routes]

    def find(self, method: str, path: str) -> str | None:
        """Return the template of the route for this method and path, or else of one for the path alone; None: none."""
        known = self._known.get((method, path))
        return self._first(method, path) if known is None else known

    def methods(self, path: str) -> list[str]:
        """Return every method that some route takes for this path, in alphabetical order."""
        return sorted({method for each in self._routes if each.pattern.fullmatch(path) for method in each.methods})

    def _first(self, method: str, path: str) -> str | None:
        fitting = [each for each in self._routes if each.pattern.fullmatch(path)]
        taking = [each for each in fitting if method in each.methods]
        return next((each.template for each in taking or fitting), None)
