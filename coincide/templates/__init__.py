"""Templates: the distribution of an occurrence time around the time that its sensor reports.

Histogram and its makers, learning one from samples, whether samples agree with one, and templates in columns.
"""

from __future__ import annotations

from coincide.templates.fit import Fit, goodness_of_fit
from coincide.templates.histogram import Histogram

__all__ = ["Fit", "Histogram", "goodness_of_fit"]
