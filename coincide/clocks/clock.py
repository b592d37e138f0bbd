"""Clock: an error that several sensors share."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.probability.error_sums import whole_error
from coincide.templates.clocked import ClockedHistogram
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_template


@dataclass(frozen=True)
class Clock:
    """A clock that several sensors report by.

    It must hold still for as long as detections of it can match: the same error is taken for all of them.

    Parameters
    ----------
    name : str
        Templates on clocks of one name share the error.
    error : Histogram
        By how much the clock may be slow, in seconds.

    Examples
    --------
    Two sensors of a gateway whose clock may be off by half a minute, and which reported 0.3 s and 20 s apart:

    >>> from coincide import Window, match_probability
    >>> microphone = Clock("gw-7", Histogram.uniform(-30, 30)).template(Histogram.uniform(-0.05, 0.05))
    >>> match_probability(microphone, microphone, [0.3, 20.0], Window(1)).tolist()
    [1.0, 0.0]
    """

    name: str
    error: Histogram

    def template(self, own: Histogram, whole: Histogram | None = None) -> ClockedHistogram:
        """Return the template of a sensor on this clock.

        Parameters
        ----------
        own : Histogram
            What is left of the sensor's error once the clock is right.
        whole : Histogram, optional
            The sensor's error with its clock's, where that was learnt as a whole; by default their sum, see
            `whole_error`.

        Raises
        ------
        HistogramError
        """
        checked_template("own", own)
        return ClockedHistogram(whole_error(own, self.error) if whole is None else whole, own, self.name, self.error)
