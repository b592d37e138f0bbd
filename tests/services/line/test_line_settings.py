"""The settings of a line in one process: its engine has the bounds that the fusion job would have."""

import subprocess
import sys
from pathlib import Path

import pytest

from coincide.fusion.control.limits import Limits
from services.common.settings import SettingsError
from services.line.settings import LineSettings, line_settings

ADDRESS = ("127.0.0.1", 8000)


def with_fusion_yaml(folder: Path, text: str, **environ: str) -> LineSettings:
    (folder / "fusion.yaml").write_text(text)
    return line_settings(folder, folder, ADDRESS, environ)


def test_the_engine_has_the_bounds_of_the_fusion_jobs_file_and_of_its_variables(tmp_path: Path) -> None:
    text = "max_query_s: 2\nmax_matches_per_s: 9\nshards: 4\nmaster: local[4]\n"
    limits = with_fusion_yaml(tmp_path, text, COINCIDE_FUSION_MAX_MATCHES_PER_S="7", COINCIDE_FUSION_QUIET_S="null")
    assert limits.limits == Limits(max_query_s=2, max_matches_per_s=7, quiet_s=None)


def test_a_bound_that_nobody_knows_or_that_is_too_small_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="max_querys_s: there is no such setting"):
        with_fusion_yaml(tmp_path, "max_querys_s: 2\n")
    with pytest.raises(SettingsError, match="max_query_s"):
        with_fusion_yaml(tmp_path, "max_query_s: 0\n")


def test_it_needs_no_spark() -> None:
    code = "import sys, services.line.settings; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
