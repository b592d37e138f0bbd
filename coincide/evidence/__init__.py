"""Evidence: whether some reports are of one event, in bits and as a probability."""

from __future__ import annotations

from coincide.evidence.bits import EvidenceColumns, evidence_columns, posterior_of
from coincide.evidence.burst_rates import recent_rates
from coincide.evidence.network import Network
from coincide.evidence.one_source import one_source_density
from coincide.evidence.parts import Parts
from coincide.evidence.rates import Hearings, Learnt, fixed_point, learnt_rates
from coincide.evidence.sets import SetPosteriors, evidence_of_sets
from coincide.evidence.shares import SharedPosterior, shared_out
from coincide.evidence.terms import EvidenceTerm, MatchEvidence, evidence_of, evidence_terms
from coincide.evidence.with_others import posterior_with_others

__all__ = [
    "EvidenceColumns",
    "EvidenceTerm",
    "Hearings",
    "Learnt",
    "MatchEvidence",
    "Network",
    "Parts",
    "SetPosteriors",
    "SharedPosterior",
    "evidence_columns",
    "evidence_of",
    "evidence_of_sets",
    "evidence_terms",
    "fixed_point",
    "learnt_rates",
    "one_source_density",
    "posterior_of",
    "posterior_with_others",
    "recent_rates",
    "shared_out",
]
