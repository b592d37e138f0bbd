"""Templates learnt from a log: errors against known times, against a trusted stream, or against the other sensors.

Which reference a detection belongs to, the consensus of other sensors, templates in spite of wrong associations, how
well they do on what came later, and all of this for every sensor and stream of a log. Whether a template drifts.
"""

from __future__ import annotations

from coincide.learning.associations import Errors, errors_against
from coincide.learning.calibration import Calibration, Learning, SensorStream, SharedPart, calibrate, shared_parts
from coincide.learning.clock_errors import SharedError, shared_errors
from coincide.learning.consensus import References, consensus_of, errors_by_consensus, shared_by_consensus
from coincide.learning.drift import Drift, drift_of, levels, others_say, true_probability
from coincide.learning.held_out import Judgement, judged
from coincide.learning.robust import LearntTemplate, learn_template

__all__ = [
    "Calibration",
    "Drift",
    "Errors",
    "Judgement",
    "Learning",
    "LearntTemplate",
    "References",
    "SensorStream",
    "SharedError",
    "SharedPart",
    "calibrate",
    "consensus_of",
    "drift_of",
    "errors_against",
    "errors_by_consensus",
    "judged",
    "learn_template",
    "levels",
    "others_say",
    "shared_by_consensus",
    "shared_errors",
    "shared_parts",
    "true_probability",
]
