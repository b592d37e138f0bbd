"""A clock that says how much CPU time each stage takes for itself, without what the stages within it take.

A stage is some functions, named by where their callers look them up: `package.module:Class.method`. While a clock runs,
each is replaced by one that tells the clock. A function that was renamed is an error, and so is a stage that nobody
entered: no stage is ever left at zero by mistake. Name functions that run once a POST, a batch or a query: asking for
the time takes about a microsecond.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction, isgeneratorfunction
from pkgutil import resolve_name
from typing import Any, NamedTuple


class Stage(NamedTuple):
    """One line of the table: the process in which it runs, its name, and the functions that are it."""

    process: str
    name: str
    functions: tuple[str, ...]


class StageClock:
    """Sums CPU time of this thread by stage; `ns` of each so far."""

    def __init__(self, now_ns: Callable[[], int] = time.thread_time_ns) -> None:
        self.ns = Counter[Stage]()
        self._now_ns = now_ns
        self._open: list[Stage] = []
        self._since_ns = 0

    @contextmanager
    def running(self, stages: Sequence[Stage]) -> Iterator[None]:
        """Time these stages; afterwards every function is again what it was.

        Raises
        ------
        AttributeError, ModuleNotFoundError
            A function is not where a stage says it is.
        SystemExit
            Nobody entered a stage.
        """
        places = [(stage, *_place(function)) for stage in stages for function in stage.functions]
        originals = [getattr(owner, name) for _, owner, name in places]
        try:
            for (stage, owner, name), original in zip(places, originals, strict=True):
                setattr(owner, name, self._timed(stage, original))
            yield
        finally:
            for (_, owner, name), original in zip(places, originals, strict=True):
                setattr(owner, name, original)
        if idle := [stage.name for stage in stages if stage not in self.ns]:
            raise SystemExit(f"nothing called the functions of these stages: {', '.join(idle)}")

    @contextmanager
    def _within(self, stage: Stage) -> Iterator[None]:
        self._account()
        self._open.append(stage)
        try:
            yield
        finally:
            self._account()
            self._open.pop()

    def _account(self) -> None:
        """Charge the time since the last call to the innermost stage that is open."""
        now_ns = self._now_ns()
        if self._open:
            self.ns[self._open[-1]] += now_ns - self._since_ns
        self._since_ns = now_ns

    def _timed(self, stage: Stage, function: Callable[..., Any]) -> Callable[..., Any]:
        if iscoroutinefunction(function):
            raise TypeError(f"{function.__qualname__} awaits, so others would run within it")

        @wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            with self._within(stage):
                return function(*arguments, **named)

        @wraps(function)
        def generate(*arguments: Any, **named: Any) -> Iterator[Any]:
            answers, done = function(*arguments, **named), object()
            while True:
                with self._within(stage):
                    answer = next(answers, done)
                if answer is done:
                    return
                yield answer

        return generate if isgeneratorfunction(function) else call


def _place(function: str) -> tuple[Any, str]:
    """Return what has the function, and its name there."""
    module, _, path = function.partition(":")
    owner, _, name = path.rpartition(".")
    place = resolve_name(f"{module}:{owner}"), name
    getattr(*place)
    return place
