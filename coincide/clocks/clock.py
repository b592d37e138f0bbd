"""Clock: an error that several sensors share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.errors import HistogramError
from coincide.probability.error_sums import FURTHEST_OFF, whole_error
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


def learnt_whole(template: ClockedHistogram) -> Histogram | None:
    """Return the whole error of a template, where it is not the sum of its own and its clock's.

    Two histograms of one sum are at most 1e-3 apart, see `whole_error`: what is as close is the sum.

    Examples
    --------
    >>> gateway, own = Clock("gw-7", Histogram.uniform(-30, 30)), Histogram.uniform(-1, 1)
    >>> learnt_whole(gateway.template(own)), learnt_whole(gateway.template(own, Histogram.uniform(-9, 9)))
    (None, Histogram(edges_s=[-9.0, 9.0], mass=[1.0]))
    """
    whole = Histogram(template.edges_s, template.mass)
    try:
        summed = whole_error(template.own, template.error)
    except HistogramError:  # more buckets than allowed: no sum could be made
        return whole
    at_s = np.union1d(whole.edges_s, summed.edges_s)
    return None if np.abs(whole.cdf(at_s) - summed.cdf(at_s)).max() <= FURTHEST_OFF else whole


def summed_where_alike(template: ClockedHistogram) -> ClockedHistogram:
    """Return the template with the sum of its errors as the whole one, unless that was learnt."""
    if learnt_whole(template) is not None:
        return template
    return Clock(template.clock, template.error).template(template.own)
