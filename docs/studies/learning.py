"""Templates learnt from a raw log of picks and the origin times alone, judged on the second half of the morning.

Nobody says which pick is of which earthquake. A pick's error is (origin - pick), where one origin only lies in its
window. Two questions: do the levels that templates give to later errors spread evenly (P-P), and are pairs of picks of
one earthquake found more precisely than with Gaussians or constants that are taken from the same errors?
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Histogram, Window, goodness_of_fit
from coincide.arrays.kinds import FloatArray
from coincide.learning import (
    Calibration,
    Errors,
    Judgement,
    Learning,
    SensorStream,
    calibrate,
    errors_against,
    errors_by_consensus,
    judged,
    learn_template,
)
from docs.studies.pairs import Competitor, Score
from docs.studies.picks import (
    FEWEST_SAMPLES,
    HALF_S,
    Half,
    Pick,
    Samples,
    Source,
    delays_of_first_half,
    exact_at,
    learnt,
    load_picks,
    origin_seconds,
)
from tests.reference.central_italy import why_absent

WITHIN = Window(lo_s=-20.0, hi_s=5.0)  # waves take up to 15 s; none arrives before it leaves
CLOSE_FIT = 0.05
LEAST = (30, 60)
RECALLS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
WINDOW_S = 0.25


def errors_of_half(picks: Sequence[Pick], *, early: bool) -> dict[SensorStream, Errors]:
    """Find errors of the picks of one half against its origins, and from nothing else."""
    at_us: dict[SensorStream, list[int]] = defaultdict(list)
    for pick in picks:
        if (pick.second < HALF_S) == early:
            at_us[SensorStream(*pick.source)].append(round(pick.second * 1e6))
    origins_us = [round(second * 1e6) for second in origin_seconds().values() if (second < HALF_S) == early]
    return {of: errors_against(times_us, origins_us, WITHIN) for of, times_us in at_us.items()}


def learnt_from_log(picks: Sequence[Pick]) -> list[Calibration]:
    return calibrate(errors_of_half(picks, early=True), Learning(WITHIN))


def judgements(picks: Sequence[Pick], calibrations: Sequence[Calibration], least: int) -> list[Judgement]:
    """Judge each template by the errors of the second half, where there are at least so many."""
    later = errors_of_half(picks, early=False)
    templates = {each.of: each.learnt for each in calibrations if each.learnt is not None}
    enough = [of for of, errors in sorted(later.items()) if of in templates and len(errors) >= least]
    return [judged(templates[of], later[of].error_s) for of in enough]


def rows_of_levels(picks: Sequence[Pick], calibrations: Sequence[Calibration]) -> Iterator[str]:
    """Yield a row for each least number of errors: how far P-P plots are from their diagonal; then for all as one."""
    for least in LEAST:
        found = judgements(picks, calibrations, least)
        distance = np.array([each.fit.distance for each in found])
        right = _by_chance([each.fit.count for each in found])
        agree = np.mean([each.fit.p_value >= 0.05 for each in found])
        shares = (np.mean(distance <= CLOSE_FIT), np.mean(right <= CLOSE_FIT), agree)
        cells = (f"{share:.0%}" for share in shares)
        medians = (f"{np.median(each):.2f}" for each in (distance, right))
        yield f"| {least} | {len(found)} | {' | '.join((*cells, *medians))} |"


def distance_of_all(picks: Sequence[Pick], calibrations: Sequence[Calibration]) -> tuple[int, float]:
    """Return how many later errors there are, and the distance of the P-P plot of all of them together."""
    level = np.concatenate([each.level for each in judgements(picks, calibrations, 1)])
    return len(level), goodness_of_fit(Histogram.uniform(0, 1), level).distance


def _by_chance(counts: Sequence[int]) -> FloatArray:
    """Return distances of as many errors from templates that are right."""
    rng, exact = np.random.default_rng(2016), Histogram.uniform(0, 1)
    return np.array([goodness_of_fit(exact, rng.random(count)).distance for count in counts for _ in range(50)])


def competitors(picks: Sequence[Pick], calibrations: Sequence[Calibration]) -> list[Competitor]:
    """Return the ways to join: by the errors of the raw log, then by the catalogue's own delays."""
    sources = sorted({pick.source for pick in picks})
    own = {tuple(each.of): each.learnt.template for each in calibrations if each.learnt is not None}
    of_phase = {each.of.stream: each.learnt.template for each in calibrations if each.pool == "stream" and each.learnt}
    raw = {(each.of.sensor, each.of.stream): (-each.errors.error_s).tolist() for each in calibrations}
    from_log = {source: own.get(source, of_phase[source[1]]) for source in sources}
    return [
        *_three("the raw log", from_log, raw, sources),
        *_three("the catalogue's picks", learnt(delays_of_first_half(), sources), delays_of_first_half(), sources),
    ]


def _three(
    name: str, templates: Mapping[Source, Histogram], delays: Samples, sources: Sequence[Source]
) -> list[Competitor]:
    bells = gaussians(delays, sources)
    return [
        Competitor(f"{name} | learnt templates", templates, WINDOW_S),
        Competitor(f"{name} | Gaussians", bells, WINDOW_S),
        Competitor(f"{name} | constants", exact_at({source: -bells[source].mean_s for source in sources})),
    ]


def gaussians(delays: Samples, sources: Sequence[Source]) -> dict[Source, Histogram]:
    """Return a Gaussian of mean and standard deviation for each station and phase, or for the phase where few."""
    pooled: dict[Source | str, list[float]] = defaultdict(list)
    for source, values in delays.items():
        pooled[source] += values
        pooled[source[1]] += values
    names = {source: source if len(pooled[source]) >= FEWEST_SAMPLES else source[1] for source in sources}
    return {
        source: Histogram.normal(float(np.std(pooled[name]))).shift(-float(np.mean(pooled[name])))
        for source, name in names.items()
    }


def precision_at(scores: Sequence[Score], recall: float) -> float:
    """Return the precision at a recall, between two settings by a straight line."""
    ordered = sorted(scores, key=lambda score: score.recall)
    return float(np.interp(recall, [each.recall for each in ordered], [each.precision for each in ordered]))


def rows_of_precision(picks: Sequence[Pick], calibrations: Sequence[Calibration]) -> Iterator[str]:
    second = Half.of(pick for pick in picks if pick.second >= HALF_S)
    for each in competitors(picks, calibrations):
        scores = each.scores(second)
        yield f"| {each.name} | {' | '.join(f'{precision_at(scores, recall):.3f}' for recall in RECALLS)} |"


DRAWS = 20
SIMULATED_WITHIN = Window(30.0)


def rows_of_simulation() -> Iterator[str]:
    """Yield a row for each number of errors: how far from the truth templates are, without and with 20 % wrong.

    Errors are log-normal delays, median 1 s, in at most 64 buckets; wrong ones are anywhere in the window.
    """
    rng = np.random.default_rng(1987)
    truth_s = -rng.lognormal(0.0, 0.5, 200_000)
    for count in (100, 400, 1_600, 6_400):
        sums = np.zeros(3)
        for _ in range(DRAWS):
            right_s = -rng.lognormal(0.0, 0.5, count)
            some_s = np.where(rng.random(count) < 0.2, rng.uniform(-30, 30, count), right_s)
            made = (
                learn_template(right_s, SIMULATED_WITHIN, 64).template,
                learn_template(some_s, SIMULATED_WITHIN, 64).template,
                Histogram.from_samples(some_s, 64),
            )
            sums += [goodness_of_fit(template, truth_s).distance for template in made]
        clean, robust, plain = sums / DRAWS
        scaled = robust * count**0.5
        yield f"| {count:,} | {clean:.3f} | {robust:.3f} | {scaled:.2f} | {plain:.3f} |"


def rows_of_consensus() -> Iterator[str]:
    """Yield a row for each number of others: how much too wide a template is that was learnt from consensus alone.

    Sensors err by 0.1 s. The one that is learnt errs by 0.4 s and is 3 s late; its present template knows little of it.
    """
    rng, events = np.random.default_rng(1987), 20_000
    for others in (2, 3, 5, 10):
        sigma_s = np.array([0.4] + [0.1] * others)
        error_s = rng.normal(0, sigma_s, (events, others + 1)) - np.eye(1, others + 1) * 3
        times_us = np.rint((np.arange(events)[:, None] * 60 - error_s) * 1e6).astype(np.int64).ravel()
        source = np.tile(np.arange(others + 1), events)
        present = {0: Histogram.uniform(-8, 0), **{n: Histogram.normal(0.1, 64) for n in range(1, others + 1)}}
        errors = errors_by_consensus(times_us, source, source, present, Window(20))[0]
        template = learn_template(errors.error_s, Window(20), 64).template
        expected = np.sqrt(1 + 0.1**2 / others / 0.4**2)
        yield f"| {others} | {template.mean_s:.3f} | {template.std_s / 0.4:.3f} | {expected:.3f} |"


HEADINGS = (
    *("later errors at least", "stations and phases", f"within {CLOSE_FIT:g}", "if all were right"),
    *("not refuted", "median distance", "if all were right"),
)


SIMULATED = ("errors", "all right", "20 % wrong", "the same times √errors", "20 % wrong, taken as right")
AGREED = ("other sensors", "learnt mean s", "learnt σ by true σ", "as stated")


def tables(_: Options) -> Iterator[Table]:
    yield Table(SIMULATED, rows_of_simulation())
    yield Table(AGREED, rows_of_consensus())
    picks = load_picks()
    calibrations = learnt_from_log(picks)
    count, distance = distance_of_all(picks, calibrations)
    title = f"All {count:,} later errors together: distance {distance:.3f}"
    yield Table(HEADINGS, rows_of_levels(picks, calibrations), title)
    yield Table(
        ("learnt from", "as", *(f"recall {recall:g}" for recall in RECALLS)), rows_of_precision(picks, calibrations)
    )


BENCHMARKS = [
    Benchmark("central_italy_learning", "templates learnt from a raw log of picks", [tables], why_not=why_absent)
]
