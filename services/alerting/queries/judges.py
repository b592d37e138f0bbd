"""Judges: what is known of a query before it runs, by its kind: what its thresholds reach, and how much it looks at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from coincide.fusion.control.limits import Limits
from coincide.queries import AnyQuery, Kind, Query
from coincide.queries.explaining import ExplainedQuery, KnownSensor, SeenRates
from coincide.queries.explaining.expected_work import expected_work
from services.alerting.store.query_rows import QueryReport
from services.common.settings import Streams

UNTIL_FUSION_TELLS = Limits()


@dataclass(frozen=True)
class Judge:
    """Knows nothing, as of a query over readings: it looks at each once, and no two sensors have to agree."""

    query: Any
    explains: ClassVar[bool] = False

    @property
    def is_sure(self) -> bool:
        """Whether what is expected is reason enough to refuse it."""
        return False

    @property
    def accepts_unreachable(self) -> bool:
        """Whether a threshold that no sensors reach is accepted."""
        return True

    def expectation(self, _report: QueryReport, _streams: Streams) -> tuple[str, float]:
        """Return what is to be expected, and how many times the limit that is."""
        return "", 0.0

    def explained(self, _sensors: list[KnownSensor], _seen: SeenRates, _streams: Streams) -> ExplainedQuery | None:
        """Return what explains the query by these sensors, if anything does."""
        return None


class JoinJudge(Judge):
    """Judges a join: by chance alone it may look at too much, and some thresholds nobody can reach."""

    query: Query
    explains = True

    @property
    def is_sure(self) -> bool:
        """Whether what is expected is reason enough to refuse it: nobody knows how few detections filters admit."""
        return not self.query.is_filtered

    @property
    def accepts_unreachable(self) -> bool:
        """Whether a threshold that no sensors reach is accepted."""
        return self.query.unreachable == "allow"

    def expectation(self, report: QueryReport, streams: Streams) -> tuple[str, float]:
        """Return what is to be expected, and how many times the limit that is."""
        expected = expected_work(self.query, report.busiest_hz, streams)
        name = "max_matches_per_detection" if len(self.query.roles) == 2 else "max_candidates_per_detection"
        if expected is None:
            return "", 0.0
        most = getattr(self.query.limits, name) or report.limits.get(name) or getattr(UNTIL_FUSION_TELLS, name)
        sentence = (
            f"chance alone may give up to {expected.candidates_per_detection:.2g} candidates per detection at the "
            f"rates of the busiest area, and {name} is {most}: choose narrower windows, fewer roles, higher thresholds "
            "or `equal`"
        )
        return sentence, expected.candidates_per_detection / most

    def explained(self, sensors: list[KnownSensor], seen: SeenRates, streams: Streams) -> ExplainedQuery | None:
        """Return what explains the query by these sensors."""
        return ExplainedQuery(self.query, sensors, seen, streams)


JUDGES: Mapping[Kind, type[Judge]] = {"join": JoinJudge}
"""Of kinds of which something is known."""


def judge_of(query: AnyQuery) -> Judge:
    """Return who judges the query."""
    return JUDGES.get(query.kind, Judge)(query)
