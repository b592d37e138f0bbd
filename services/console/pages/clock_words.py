"""What is said of clocks that sensors share: how slow one was, and what errors have in common."""

from __future__ import annotations

from coincide import Histogram
from services.console.pages.time_words import duration
from services.console.rest.documents import ClockAnswer
from services.console.rest.sensor_answers import ErrorAnswer, SharedAnswer

NAMED = 5


def clock_sentence(clock: ClockAnswer) -> str:
    """Say how slow or fast a clock was."""
    mean, low, high = map(slow, (clock.mean_s, clock.p05_s, clock.p95_s))
    return f"The clock of {clock.id} was {mean}; with 90 % between {low} and {high}."


def slow(seconds: float) -> str:
    """Say how slow or fast something was.

    Examples
    --------
    >>> slow(12.1), slow(-0.25)
    ('12.1 s slow', '250 ms fast')
    """
    return f"{duration(abs(seconds))} {'fast' if seconds < 0 else 'slow'}"


def shared_in_words(shared: SharedAnswer) -> str:
    """Return with whose errors a sensor's move together, and how wide they are with its clock right.

    Examples
    --------
    >>> from services.console.rest.sensor_answers import OtherAnswer
    >>> wide, narrow = ErrorAnswer([-10, 10], [1.0]), ErrorAnswer([-0.1, 0.1], [1.0])
    >>> of = [OtherAnswer("b", "noise")]
    >>> shared_in_words(SharedAnswer(clock="gw-7", others=of, correlation=0.98, events=400, error=wide, own=narrow))
    'Its errors move together with those of b, as on one clock: gw-7 errs by 5.8 s, and the sensor itself by 0.058 s.'
    """
    names = sorted({each.sensor for each in shared.others})
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    whose = ", ".join(names[:NAMED]) + more
    spreads = f"{shared.clock or 'that'} errs by {_spread_s(shared.error):.2g} s, and the sensor itself by"
    return f"Its errors move together with those of {whose}, as on one clock: {spreads} {_spread_s(shared.own):.2g} s."


def _spread_s(error: ErrorAnswer) -> float:
    return Histogram(error.edges_s, error.mass).std_s
