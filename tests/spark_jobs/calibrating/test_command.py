"""The command that learns on Spark: its words, and that it proposes what later errors have shown to be better."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Window
from coincide.learning import Calibration, Learning, SensorStream, calibrate, errors_against
from coincide.wire.declarations.template_proposal import TemplateProposal
from services.common.engine.fusion_settings import FusionSettings
from services.common.program.skeleton import REFUSED
from services.common.settings import SettingsError
from spark_jobs import calibrate as command

WITHIN = Window(lo_s=-5.0, hi_s=5.0)


def learnt(sensor: str, errors: int, present: Histogram | None) -> Calibration:
    """What 1 s of delay, give or take, teaches in so many errors."""
    of, rng = SensorStream(sensor, "knock"), np.random.default_rng(errors)
    known_us = np.arange(errors) * 60_000_000
    found = errors_against(known_us + np.rint(rng.normal(1, 0.1, errors) * 1e6).astype(np.int64), known_us, WITHIN)
    [calibration] = calibrate({of: found}, Learning(WITHIN, present=None if present is None else {of: present}))
    return calibration


def test_only_what_does_better_on_later_errors_is_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        learnt("wide", 400, Histogram.uniform(-4, 4)),
        learnt("right", 400, Histogram.normal(0.1, 64).shift(-1.0)),
        learnt("few", 40, Histogram.uniform(-4, 4)),
        learnt("new", 400, None),
    ]
    proposed: list[TemplateProposal] = []
    monkeypatch.setattr(command, "propose", lambda _settings, better: proposed.extend(better))
    given = argparse.Namespace(out=None, picture=None, propose=True)
    calibrated = command.Calibrated(found, {each.of: "yard" for each in found})
    said = [*command._given_out(calibrated, given, FusionSettings.model_construct())]
    assert [each.sensor for each in proposed] == ["wide"]
    assert all(each.score is not None and each.present_score is not None for each in proposed)
    assert said[1:] == [
        "proposed 1; the present templates of 1 do as well on later errors",
        "2 are not proposed: later errors are too few, or no present template is known",
    ]


@pytest.mark.parametrize("words", [["--within", "-10:2"], ["--within=-10:2"]])
def test_the_window_of_the_page_is_read(words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    def refuse(_model: object, _given: object) -> FusionSettings:
        raise SettingsError("no further")

    monkeypatch.setattr(command, "settings_of", refuse)
    monkeypatch.setattr(command, "_within", lambda text: seen.setdefault("within", text))
    arguments = ["log.ndjson", "--reference", "known.ndjson", *words, "--out", str(tmp_path / "out.yaml")]
    assert command.main(arguments) == REFUSED
    assert seen == {"within": "-10:2"}


def test_a_proposal_needs_the_present_templates(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["log.ndjson", "--reference", "known.ndjson", "--propose"])
    assert "argument --propose: needs the present templates: --present" in capsys.readouterr().err
