"""Explaining a query: what its thresholds can reach with the sensors there are, and what chance and work to expect.

`explain` gives figures, `sentences_of` says them, and `least_threshold` answers the other way round: which threshold
gives few enough matches by chance. `chosen_threshold` says that. `ExplainedQuery` answers both for one query, with the
work done once.

From the sensors to the figures: `known_sensors` has who may play a role and how often; `sensor_pairs` counts which two
may meet; `template_cells` looks at each pair of their templates once; `edge_reach` says what an edge attains and
`joint_reach` what all of them do at once; `expected_chance` weighs what chance gives, for more than two roles by
`chance_points`; `explained_query` puts it together in an `explanation`, which `sentences` reads aloud.
"""

from __future__ import annotations

from coincide.queries.explaining.explained_query import ExplainedQuery, explain, least_threshold
from coincide.queries.explaining.explanation import ChanceFigures, EdgeFigures, Explanation, JointFigures, RoleFigures
from coincide.queries.explaining.known_sensors import KnownSensor, SeenRates
from coincide.queries.explaining.sentences import chosen_threshold, sentences_of, unreachable_because

__all__ = [
    "ChanceFigures",
    "EdgeFigures",
    "ExplainedQuery",
    "Explanation",
    "JointFigures",
    "KnownSensor",
    "RoleFigures",
    "SeenRates",
    "chosen_threshold",
    "explain",
    "least_threshold",
    "sentences_of",
    "unreachable_because",
]
