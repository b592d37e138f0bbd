"""An event's own uncertainty: anchored intervals, and many different ones rounded to few."""

import json
import random
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram, Window, match_probability
from coincide.command.arguments.template_arguments import load_templates
from coincide.command.input.own_uncertainty import MOST_SPREADS, NO_LENGTH, OwnUncertainty, is_rounded, spread_templates
from deploy.host.machine import ROOT
from services.common.settings import load_streams
from services.ingest.registry.sensors_file import load_sensors
from tests.coincide.command.files import EPOCH_US, join, text, write


def own(sigma_s: list[float], length_us: list[int]) -> OwnUncertainty:
    rows = len(sigma_s) + len(length_us)
    sigma = np.array([*sigma_s, *[np.nan] * len(length_us)])
    length = np.array([*[NO_LENGTH] * len(sigma_s), *length_us], np.int64)
    return OwnUncertainty(sigma, np.zeros(rows, np.int64), length)


@given(st.lists(st.floats(1e-3, 10), max_size=9), st.lists(st.integers(0, 10**8), max_size=9))
def test_few_are_taken_as_they_are(sigma_s: list[float], length_us: list[int]) -> None:
    few = own(sigma_s, length_us)
    templates, index, shift_us = spread_templates(few)
    assert not is_rounded(few)
    expected = [Histogram.normal(sigma_s=s) for s in sigma_s] + [Histogram.uniform(0, us / 1e6) for us in length_us]
    assert [templates[position] for position in index] == expected
    assert not shift_us.any()


def test_many_are_rounded_and_no_probability_moves_by_more_than_a_hundredth() -> None:
    draw = random.Random(7)
    sigma_s = [draw.uniform(0.1, 3) for _ in range(3 * MOST_SPREADS)]
    length_us = [draw.randrange(0, 9_000_000) for _ in range(3 * MOST_SPREADS)]
    many = own(sigma_s, length_us)
    templates, index, shift_us = spread_templates(many)
    assert is_rounded(many)
    assert len(templates) < 1200
    for _ in range(400):
        row, other = draw.randrange(len(sigma_s)), draw.randrange(len(length_us))
        u, v = Histogram.normal(sigma_s=sigma_s[row]), Histogram.uniform(0, length_us[other] / 1e6)
        about_u, about_v = templates[index[row]], templates[index[len(sigma_s) + other]]
        moved_s = int(shift_us[len(sigma_s) + other]) / 1e6
        window, offset_s = Window(draw.uniform(0.1, 3)), draw.uniform(-9, 4)
        exact = match_probability(u, v, offset_s, window)
        assert match_probability(about_u, about_v, offset_s + moved_s, window) == pytest.approx(exact, abs=0.01)


def test_many_at_the_ends_of_what_is_allowed_are_rounded_inside() -> None:
    steps = np.arange(MOST_SPREADS + 1)
    lengths = [*(10**15 - steps).tolist(), 0, 1]
    sigma_s = [*(2.5e8 - steps).tolist(), 1e-6]
    templates, index, _ = spread_templates(own(sigma_s, lengths))
    chosen = [templates[position] for position in index]
    assert max(template.latest_s for template in chosen) == pytest.approx(1e9, rel=0.01)
    assert min(template.latest_s for template in chosen[: len(sigma_s)]) == pytest.approx(4e-6, rel=0.01)
    assert [template.length_s for template in chosen[-2:]] == [0.0, 1e-6]


def test_a_file_says_that_many_are_rounded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"detected_at_us": EPOCH_US + 10**6 * n, "sigma_s": 0.1 + n / 100_000} for n in range(MOST_SPREADS + 1)]
    answer = join(write(tmp_path / "a.csv", rows), "--window", 1, "--threshold", 0.5, out=tmp_path / "out.csv")
    assert "more than 500 different uncertainties; they are rounded to steps of 1 %" in capsys.readouterr().err
    assert answer


def test_parquet_columns_of_any_number_type(tmp_path: Path) -> None:
    columns = (pa.array([1, 1], pa.float32()), pa.array([1, 1], pa.int16()), pa.array([Decimal(1), Decimal("1.0")]))
    for column in columns:
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table({"detected_at": pa.array([EPOCH_US] * 2, pa.uint64()), "sigma_s": column}), path)
        [pair] = join(path, "--window", 1, "--threshold", 0.1, out=tmp_path / "out.csv")
        sigma = Histogram.normal(sigma_s=1.0)
        assert pair["probability"] == pytest.approx(match_probability(sigma, sigma, 0.0, Window(1)), abs=6e-7)


def test_an_interval_counts_whatever_was_reported(tmp_path: Path) -> None:
    # the later interval is reported first: roles and offsets still follow the reports
    rows = [
        {"id": name, "detected_at_us": at, "earliest": at + early, "latest": at + early + 2_000_000}
        for name, at, early in (("first", EPOCH_US, 5_000_000), ("second", EPOCH_US + 1_000_000, 0))
    ]
    [pair] = join(write(tmp_path / "a.ndjson", rows), "--window", 4, "--threshold", 0.1, out=tmp_path / "out.ndjson")
    assert (pair["id_a"], pair["id_b"], pair["offset_s"]) == ("first", "second", 1.0)
    expected = match_probability(Histogram.uniform(5, 7), Histogram.uniform(0, 2), 1.0, Window(4))
    assert pair["probability"] == pytest.approx(expected, abs=6e-7)


def test_the_forms_of_templates_are_those_of_config_sensors_yaml(tmp_path: Path) -> None:
    forms = yaml.safe_load((ROOT / "config/sensors.yaml").read_text(encoding="utf-8"))["templates"] | {
        "late": {"latency": [[0, 10, 0.6], [10, 20, 0.4]]},
        "gps": {"normal": {"sigma_s": 1.5, "buckets": 8}},
        "exact": {"point": True},
        "any": {"edges_s": [-40, -20, 0], "mass": [0.3, 0.7]},
    }
    sensors = [{"id": name, "area": "a", "streams": {"neutrino": name}} for name in forms]
    declared = text(tmp_path / "sensors.yaml", yaml.safe_dump({"templates": forms, "sensors": sensors}))
    of_ingest = load_sensors(declared, load_streams(ROOT / "config/streams.yaml"))
    of_command = load_templates(text(tmp_path / "templates.json", json.dumps(forms)))
    of_file = load_templates(declared)
    assert of_command.by_name == {name: sensor.streams["neutrino"] for name, sensor in of_ingest.items()}
    assert of_file.by_name == of_command.by_name
    assert [*of_file.sensors] == [*of_ingest]
