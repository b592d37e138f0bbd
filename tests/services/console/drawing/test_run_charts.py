"""What is drawn of a run: no 0 on a logarithmic scale, and a lane only for what differs."""

from services.console.drawing.run_charts import curve_options, difference_options, is_logarithmic
from services.console.rest.run_answers import CurvePointAnswer, SlidesAnswer


def test_counts_that_differ_much_are_drawn_by_their_logarithms_without_zeros() -> None:
    points = [CurvePointAnswer(0.1, 5000, 3), CurvePointAnswer(0.5, 2, 1), CurvePointAnswer(0.9, 0, 0)]
    options = curve_options(points, 0.5)
    assert is_logarithmic(points)
    assert options["yAxis"]["type"] == "log"
    assert {each["name"]: each["data"] for each in options["series"]} == {
        "matches": [(0.1, 5000), (0.5, 2)],
        "episodes": [(0.1, 3), (0.5, 1)],
    }
    assert options["series"][0]["markLine"]["data"] == [{"xAxis": 0.5}]
    assert {each["step"] for each in options["series"]} == {"start"}


def test_counts_that_are_alike_are_drawn_as_they_are() -> None:
    points = [CurvePointAnswer(0.1, 9, chance=0.5), CurvePointAnswer(0.5, 0, chance=0.1)]
    options = curve_options(points, None)
    assert options["yAxis"]["type"] == "value"
    assert {each["name"]: each["data"] for each in options["series"]} == {
        "matches": [(0.1, 9), (0.5, 0)],
        "by chance": [(0.1, 0.5), (0.5, 0.1)],
    }
    assert curve_options([], 0.5)["series"] == []


def test_time_slides_stand_at_their_threshold_with_their_interval() -> None:
    points = [CurvePointAnswer(0.1, 5000, chance=4_000.0), CurvePointAnswer(0.5, 20, chance=0.8)]

    def drawn(low: float) -> list[tuple[float, float]]:
        slides = SlidesAnswer(
            slides=10,
            chance=1.0,
            chance_per_day=24.0,
            interval_per_day=(low, 60.0),
            recorded_s=3_600.0,
            areas=1,
            areas_left_out=0,
            slides_overlap=False,
        )
        [by_slides] = [each for each in curve_options(points, 0.5, (0.5, slides))["series"] if "step" not in each]
        assert by_slides["name"] == "by time slides"
        return [each["value"] for each in by_slides["data"]]

    assert drawn(12.0) == [(0.5, 0.5), (0.5, 1.0), (0.5, 2.5)]
    assert drawn(0.0) == [(0.5, 1.0), (0.5, 2.5)]  # a logarithm has no 0
    assert {each["step"] for each in curve_options(points, 0.5)["series"]} == {"start"}


def test_differences_have_a_lane_each_in_one_order() -> None:
    options = difference_options({"gone": [2_000], "added": [1_000, 3_000]}, 0, 4_000, in_utc=True)
    assert options["yAxis"]["data"] == ["added", "gone"]
    assert [each["data"] for each in options["series"]] == [[[1.0, "added"], [3.0, "added"]], [[2.0, "gone"]]]
