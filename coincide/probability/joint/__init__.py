"""The joint probability of k members: that all windows of their graph hold at once."""

from __future__ import annotations

from coincide.probability.joint.probability import joint_at_least, joint_probabilities
from coincide.probability.joint.refinement import JointProbability

__all__ = ["JointProbability", "joint_at_least", "joint_probabilities"]
