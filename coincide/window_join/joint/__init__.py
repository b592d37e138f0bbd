"""The joint probability of k members: that all windows of their graph hold at once."""

from coincide.window_join.joint.induced import induced
from coincide.window_join.joint.probability import joint_at_least, joint_probabilities
from coincide.window_join.joint.refinement import JointProbability

__all__ = ["JointProbability", "induced", "joint_at_least", "joint_probabilities"]
