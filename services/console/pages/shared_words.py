"""What sensors' errors share, in words."""

from __future__ import annotations

from coincide import Histogram
from services.console.rest.sensor_answers import ErrorAnswer, SharedAnswer

NAMED = 5


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
