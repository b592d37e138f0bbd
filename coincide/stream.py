"""Stream: a named kind of detection, and what is declared of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from coincide.errors import StreamError
from coincide.templates.histogram import Histogram

LONGEST_DELAY_S = 1e8  # about 3 years, far from the ends of int64 microseconds
LONGEST_NAME = 100
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
NAME_IN_WORDS = f"1 to {LONGEST_NAME} letters, digits, '.', '_' or '-', beginning with a letter or digit"


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
    templates : sequence of Histogram, optional
        All templates that its detections may have; `longest_template_s` then follows from them, whatever is given.
        Where both streams of a join declare theirs, it keeps events only as long as these templates can match.
    echo_s : float, optional
        A report is an echo if its sensor made another one in the same area at most so long before it. At least 0. The
        engine does not join echoes, and holds reports back until it is certain. The joins of the library do not look at
        it: give them what `without_echoes` leaves.

    Raises
    ------
    StreamError
        Names the field, the value and what is allowed.

    Examples
    --------
    >>> Stream("neutrino", longest_template_s=300).max_delay_us
    120000000
    >>> Stream("neutrino", templates=[Histogram.point(), Histogram.uniform(-2, 1)]).longest_template_s
    3.0
    """

    name: str
    max_delay_s: float = 120.0
    longest_template_s: float = 300.0
    templates: Sequence[Histogram] | None = None
    echo_s: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or len(self.name) > LONGEST_NAME or not NAME.fullmatch(self.name):
            raise StreamError("name", self.name, NAME_IN_WORDS)
        _refuse_unless_duration("max_delay_s", self.max_delay_s)
        if self.templates is not None:
            templates = _checked_templates(self.templates)
            object.__setattr__(self, "templates", templates)
            object.__setattr__(self, "longest_template_s", max(template.length_s for template in templates))
        _refuse_unless_duration("longest_template_s", self.longest_template_s)
        if self.echo_s is not None:
            _refuse_unless_duration("echo_s", self.echo_s)

    @property
    def max_delay_us(self) -> int:
        """D in whole microseconds, rounded up."""
        return math.ceil(self.max_delay_s * 1e6)

    @property
    def longest_template_us(self) -> int:
        """Longest template in whole microseconds, rounded up."""
        return math.ceil(self.longest_template_s * 1e6)

    @property
    def echo_us(self) -> int | None:
        """`echo_s` in whole microseconds, rounded as `without_echoes` does."""
        return None if self.echo_s is None else round(self.echo_s * 1e6)


def _refuse_unless_duration(field: str, seconds: object) -> None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_DELAY_S:
        raise StreamError(field, seconds, f"a number of seconds from 0 to {LONGEST_DELAY_S:g}")


def _checked_templates(templates: object) -> tuple[Histogram, ...]:
    given = tuple(templates) if isinstance(templates, Sequence) else ()
    if not given or not all(isinstance(each, Histogram) for each in given):
        raise StreamError("templates", templates, "a sequence of Histograms, at least one, or None")
    return tuple(dict.fromkeys(given))


def checked_stream(field: str, stream: object) -> Stream:
    """Return `stream` if it is a Stream, else raise StreamError."""
    if not isinstance(stream, Stream):
        raise StreamError(field, stream, "a Stream, such as Stream('seismic')")
    return stream
