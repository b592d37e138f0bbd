"""When a run ends."""

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from trials.chaos.faults.registry import FAULTS
from trials.chaos.report import Outcome
from trials.chaos.run import Run


def test_a_run_that_is_to_end_soon_tries_no_further_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, FAULTS, seed=1, soak_s=1e9)

    def done(fault: Any, *_: object) -> Outcome:
        if len(run.found.outcomes) == 3:
            run.end_soon()
        return Outcome(fault.name, 0.0, recovered_s=0.1)

    monkeypatch.setattr("trials.chaos.run.CALM_S", (0.0, 0.0))
    monkeypatch.setattr(run, "_done", done)
    place, probe = SimpleNamespace(random=Random(1)), SimpleNamespace(seconds_until_matched=lambda: 0.1)
    run._do_faults(place, probe)  # type: ignore[arg-type]
    assert len(run.found.outcomes) == 4
