"""Stream: a named kind of detection, and what is declared of it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from coincide.errors import StreamError

LONGEST_DELAY_S = 1e8  # about 3 years, far from the ends of int64 microseconds
LONGEST_NAME = 100
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Stream:
    """A named kind of detection: seismic, P pick, neutrino.

    Parameters
    ----------
    name : str
        1 to 100 letters, digits, ``.``, ``_`` or ``-``, starting with a letter or digit.
    max_delay_s : float
        D: a detection whose latest possible occurrence is before its area's watermark minus D is late. At least 0.
    longest_template_s : float
        The longest template (latest minus earliest edge) its detections may have. At least 0. Retention follows it.

    Raises
    ------
    StreamError
        Names the field, the value and what is allowed.

    Examples
    --------
    >>> Stream("neutrino", longest_template_s=300).max_delay_us
    120000000
    """

    name: str
    max_delay_s: float = 120.0
    longest_template_s: float = 300.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or len(self.name) > LONGEST_NAME or not NAME.fullmatch(self.name):
            raise StreamError("name", self.name, "1 to 100 letters, digits, '.', '_' or '-', not starting with a mark")
        _refuse_unless_duration("max_delay_s", self.max_delay_s)
        _refuse_unless_duration("longest_template_s", self.longest_template_s)

    @property
    def max_delay_us(self) -> int:
        """D in whole microseconds, rounded up."""
        return math.ceil(self.max_delay_s * 1e6)

    @property
    def longest_template_us(self) -> int:
        """Longest template in whole microseconds, rounded up."""
        return math.ceil(self.longest_template_s * 1e6)


def _refuse_unless_duration(field: str, seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_DELAY_S:
        raise StreamError(field, seconds, f"a number of seconds from 0 to {LONGEST_DELAY_S:g}")


def checked_stream(field: str, stream: object) -> Stream:
    """Return `stream` if it is a Stream, else raise StreamError."""
    if not isinstance(stream, Stream):
        raise StreamError(field, stream, "a Stream, such as Stream('seismic')")
    return stream
