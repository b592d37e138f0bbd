"""How many examples Hypothesis shows a law: the profiles, and the share of its own number that a dear law gets in each.

``check`` is the default and repeats itself: the same change passes or fails each time. ``random`` looks for new
examples at full size, and ``quick`` takes a glance. Choose one by ``--hypothesis-profile`` or ``HYPOTHESIS_PROFILE``.
A dear test that has its cases by hand gets some of them in each check, and all at night: see `in_turn`.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import settings

#: What a law gets that asks for no number of its own.
USUAL = 50
#: Which share of its number a law gets that says it by `examples`.
SHARES = {"check": 1 / 3, "random": 1.0, "quick": 1 / 10}
CHOSEN = "HYPOTHESIS_PROFILE"


def register_profiles() -> None:
    """Let Hypothesis know the profiles, and load the one that is asked for."""
    # a busy machine is no failure: pytest's timeout bounds each test, not Hypothesis' deadline for one example
    settings.register_profile("check", deadline=None, derandomize=True, max_examples=USUAL)
    settings.register_profile("random", deadline=None, max_examples=USUAL)
    settings.register_profile("quick", deadline=None, derandomize=True, max_examples=math.ceil(USUAL * SHARES["quick"]))
    settings.load_profile(os.environ.get(CHOSEN, "check"))


def examples(full: int = USUAL) -> int:
    """Return how many of its ``full`` number of examples a dear law gets in the profile in use."""
    return math.ceil(full * SHARES.get(settings.get_current_profile_name(), 1.0))


def in_turn(some: Iterable[tuple[Any, ...]], others: Sequence[Any]) -> Iterator[Any]:
    """Yield the parameters of a dear test: each of some with one of the others in turn, and at night with all."""
    for nth, each in enumerate(some):
        for at, other in enumerate(others):
            yield pytest.param(*each, other, marks=() if at == nth % len(others) else pytest.mark.night)
