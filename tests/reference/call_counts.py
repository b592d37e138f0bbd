"""CallCounts: how much was done since, by kind, as the calls of some functions amount to."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest


class CallCounts:
    """Counts by kind, of the functions and methods that it was told to watch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._counts: Counter[str] = Counter()

    def __getitem__(self, kind: str) -> int:
        return self._counts[kind]

    def watch(self, owner: Any, name: str, kind: str, amount: Callable[..., int]) -> None:
        """Let each call of ``owner.name`` add amount(its result, *its arguments)."""
        function = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            result = function(*arguments, **named)
            self._counts[kind] += amount(result, *arguments)
            return result

        self._monkeypatch.setattr(owner, name, call)
