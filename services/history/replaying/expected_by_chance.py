"""How many matches chance alone would give in the range of a run: by the formula, at each threshold of its curve.

And by time slides, at the query's own threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from coincide import Histogram
from coincide.errors import CoincideError
from coincide.queries import Query
from coincide.queries.explaining import ChanceFigures, ExplainedQuery, KnownSensor
from coincide.queries.joins.role_filter import Source
from coincide.slides import TimeSlides
from services.history.replaying.complete_answer import reach_us
from services.history.replaying.match_curves import at_threshold, rounded
from services.history.replaying.request import RunError
from services.history.rows.archive_rows import HashRows
from services.history.rows.played_rows import PlayedRows

HOUR_S, DAY_S = 3_600, 86_400
KIND = ("area", "sensor_id", "template")
AT = "detected_at_us"


@dataclass(frozen=True)
class ExpectedMatches:
    """Matches that chance alone would give, and the standard error of that: 0 where it is exact."""

    matches: float
    error: float
    is_upper_bound: bool

    @classmethod
    def of(cls, chance: ChanceFigures, span_s: float) -> ExpectedMatches:
        """Return what chance gives in so many seconds."""
        matches, error = (rounded(each * span_s / HOUR_S) for each in (chance.per_hour, chance.error_per_hour))
        return cls(matches, error, chance.is_upper_bound)

    def to_json(self) -> dict[str, float | bool]:
        """Return the fields of a curve's point."""
        error = {"chance_error": self.error} if self.error else {}
        bound = {"chance_is_upper_bound": True} if self.is_upper_bound else {}
        return {"chance": self.matches, **error, **bound}


def role_counts(played: PlayedRows) -> list[pa.Table]:
    """Return for each role how many of the chunk's own rows may play it, by area, sensor and template.

    Beside it stands when the first of them was detected, and the last.
    """
    counts = {}
    for source, at in played.of_source.items():
        own = played.rows.take(pa.array(at[played.is_own[at]])).select([*KIND, AT])
        counts[source] = own.group_by(list(KIND)).aggregate([([], "count_all"), (AT, "min"), (AT, "max")])
    return [counts[source] for source in played.query.sources]


def chance_matches(
    query: Query,
    counts: Sequence[Sequence[pa.Table]],
    templates: Mapping[str, Histogram],
    thresholds: Sequence[float],
    span_s: float,
) -> dict[float, ExpectedMatches]:
    """Return what chance would give at these thresholds of the query's curve.

    Nothing where that takes too long, and for a query that asks where sensors are.

    It is what `coincide.queries.explaining` says of the query, with the rates of the run's own detections, constant
    from the first of them to the last, whatever the range: who hears nothing before and after adds nothing. With
    `equal` it is a bound, as if all detections had equal values.

    `counts` are those of `role_counts`, chunk by chunk; `span_s` is the length of the range.
    """
    if query.needs_places:
        return {}
    span_s = heard_s(chain.from_iterable(counts)) or span_s
    of_roles = dict(zip(query.sources, zip(*counts, strict=True), strict=True)) if counts else {}
    known = {source: _known(source, tables, templates, span_s) for source, tables in of_roles.items()}
    every = [*chain.from_iterable(known.values())]
    if not every:
        return dict.fromkeys(thresholds, ExpectedMatches(0.0, 0.0, is_upper_bound=False))
    told = ExplainedQuery(at_threshold(query, min(thresholds)), every, passing=known).chance_at(thresholds)
    if told is None:
        return {}
    return {at: ExpectedMatches.of(each, span_s) for at, each in zip(thresholds, told, strict=True)}


def heard_s(counts: Iterable[pa.Table]) -> float:
    """Return the time from the first detection that is counted to the last, in seconds; 0 where there are none."""
    tables = [table for table in counts if len(table)]
    first_us = min((pc.min(table[f"{AT}_min"]).as_py() for table in tables), default=0)
    last_us = max((pc.max(table[f"{AT}_max"]).as_py() for table in tables), default=0)
    return float(last_us - first_us) / 1e6


def _known(
    source: Source, tables: Iterable[pa.Table], templates: Mapping[str, Histogram], span_s: float
) -> list[KnownSensor]:
    """Return who has reported what may play a role, and how often."""
    all_rows = pa.concat_tables(tables).group_by(list(KIND)).aggregate([("count_all", "sum")])
    all_rows = all_rows.sort_by([(name, "ascending") for name in KIND])  # an estimate depends on the order
    area, sensor, template, count = (all_rows[name].to_pylist() for name in (*KIND, "count_all_sum"))
    return [
        KnownSensor(each, where, source.stream, templates[id_], rows / span_s)
        for where, each, id_, rows in zip(area, sensor, template, count, strict=True)
    ]


@dataclass(frozen=True)
class SlidAnswer:
    """What time slides count in the areas of some hashes; None where there is nothing to slide, and why not."""

    found: Sequence[TimeSlides]
    unknown: str | None = None


@dataclass(frozen=True)
class SlidesTask:
    """Shifts the sensors of each area of one hash against each other. All rows of the hash are in memory at once."""

    rows: HashRows
    query: Query
    slides: int
    most_counted: int

    def answer(self, check: Callable[[], None]) -> SlidAnswer:
        """Return what was counted; what nobody can shift is said, and ends nothing else."""
        check()
        try:
            played = self._played()
            return SlidAnswer([] if played is None else [self._slid(played, check)])
        except (CoincideError, RunError) as error:
            return SlidAnswer([], f"time slides: {error}")

    def _played(self) -> PlayedRows | None:
        """Return all rows of the hash; None where there are none."""
        keys = self.rows.cut(partial(reach_us, self.query), self.rows.wanted.most, looks_back=False)
        if len(keys) > 1:
            most = f"{self.rows.wanted.most} detections (max_detections)"
            raise RunError(
                f"an area has to be in memory at once, and there are more than {most}: ask for a shorter range"
            )
        return PlayedRows.of(self.query, self.rows.read(keys[0])) if keys else None

    def _slid(self, played: PlayedRows, check: Callable[[], None]) -> TimeSlides:
        joined = played.joined(self.query)
        return joined.slides(self.slides, lambda _share: check(), most_matches=self.most_counted)


def slides_told(answers: Sequence[SlidAnswer]) -> dict[str, Any]:
    """Return what a summary says of the time slides of all hashes together."""
    unknown = next((each.unknown for each in answers if each.unknown is not None), None)
    if unknown is not None:
        return {"slides": None, "slides_unknown": unknown}
    all_found = [each for answer in answers for each in answer.found]
    if not any(len(each.recorded) for each in all_found):
        return {"slides": None, "slides_unknown": "time slides: no area has detections of two sensors for long enough"}
    found = TimeSlides.together(all_found)
    low_hz, high_hz = found.interval_hz
    return {
        "slides": {
            "slides": len(found.counts),
            "chance_per_day": rounded(found.rate_hz * DAY_S),
            "interval_per_day": [rounded(low_hz * DAY_S), rounded(high_hz * DAY_S)],
            "chance": rounded(found.expected),
            "matches": found.unshifted,
            "recorded_s": rounded(sum(each.seconds for each in found.recorded)),
            "areas": len(found.recorded),
            "areas_left_out": found.left_out,
            "least_shift_s": found.least_step_us / 1e6,
            "clumping": rounded(found.clumping),
            "slides_overlap": found.overlaps,
        }
    }
