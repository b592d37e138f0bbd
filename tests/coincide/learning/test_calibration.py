import numpy as np
import pytest
from numpy.random import Generator

from coincide import Histogram, Window
from coincide.arrays.kinds import FloatArray
from coincide.learning import Errors, Learning, SensorStream, calibrate, judged, learn_template

WITHIN = Window(10)


def errors(error_s: FloatArray) -> Errors:
    rows = np.arange(len(error_s))
    return Errors(error_s, rows, rows, 0, 0)


def test_few_errors_are_pooled_by_model_then_by_stream(rng: Generator) -> None:
    def draw(count: int, mean_s: float) -> Errors:
        return errors(rng.normal(mean_s, 0.1, count))

    found = {
        SensorStream("own", "noise"): draw(200, -1),
        SensorStream("few-1", "noise"): draw(20, -3),
        SensorStream("few-2", "noise"): draw(25, -3),
        SensorStream("stray", "noise"): draw(5, -1),
        SensorStream("lone", "light"): draw(29, 0),
    }
    models = {"few-1": "buoy", "few-2": "buoy", "stray": "unheard of"}
    by_name = {each.of.sensor: each for each in calibrate(found, Learning(WITHIN, models=models))}
    assert {name: each.pool for name, each in by_name.items()} == {
        "own": "own",
        "few-1": "model",
        "few-2": "model",
        "stray": "stream",
        "lone": None,
    }
    assert by_name["lone"].learnt is None
    few, stray = by_name["few-1"].learnt, by_name["stray"].learnt
    assert few is not None
    assert stray is not None
    assert few.template == by_name["few-2"].learnt.template  # type: ignore[union-attr]
    assert (few.count, stray.count) == (45, 250)
    assert few.template.mean_s == pytest.approx(-3, abs=0.1)


def test_it_says_how_far_it_has_come(rng: Generator) -> None:
    found = {SensorStream(name, "noise"): errors(rng.normal(0, 0.1, 40)) for name in "abcd"}
    shares: list[float] = []
    heard = calibrate(found, Learning(WITHIN), progress=shares.append)
    assert shares == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert [each.learnt for each in heard] == [each.learnt for each in calibrate(found, Learning(WITHIN))]


def test_what_is_held_out_is_later(rng: Generator) -> None:
    moved = np.concatenate((rng.normal(0, 0.1, 300), rng.normal(1, 0.1, 300)))
    [one] = calibrate({SensorStream("s", "noise"): errors(moved)}, Learning(WITHIN))
    assert one.held_out is not None
    assert one.held_out.fit.distance > 0.9
    assert one.held_out.fit.count == 300


def test_the_better_template_has_the_better_score(rng: Generator) -> None:
    early, late = rng.normal(-1, 0.2, 500), rng.normal(-1, 0.2, 500)
    learnt = learn_template(early, WITHIN)
    guess, truth = Histogram.uniform(-3, 0), Histogram.normal(0.2, 64).shift(-1)
    against_guess, against_truth = (judged(learnt, late, present) for present in (guess, truth))
    assert against_guess.present_score is not None
    assert against_truth.present_score is not None
    assert against_guess.present_score < against_guess.score < against_truth.present_score + 0.02
    assert against_truth.present_score - against_truth.score < 0.2
    # a Gaussian's own: -log(sigma) - (1 + log 2 pi) / 2
    assert against_truth.present_score == pytest.approx(-np.log(0.2) - (1 + np.log(2 * np.pi)) / 2, abs=0.1)


def test_levels_of_a_right_template_are_evenly_spread(rng: Generator) -> None:
    learnt = learn_template(rng.normal(0, 1, 20_000), WITHIN, buckets=64)
    level = judged(learnt, rng.normal(0, 1, 20_000)).level
    assert np.abs(level - np.linspace(0, 1, len(level))).max() < 0.02


def test_an_impossible_error_costs_a_bounded_score() -> None:
    learnt = learn_template(np.linspace(-1, 1, 100), WITHIN)
    assert judged(learnt, np.array([5.0])).score == pytest.approx(np.log(max(0.01, learnt.wrong_share) / 20))
    assert learnt.wrong_share < 0.05
