"""Only records and the engine of fusion need msgspec, and they say so."""

import subprocess
import sys

import pytest

WITHOUT = "import sys; sys.modules['msgspec'] = None\nimport {name}"


def imported(name: str) -> subprocess.CompletedProcess[str]:
    """Import a module where msgspec cannot be imported."""
    command = [sys.executable, "-c", WITHOUT.format(name=name)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", ["coincide.fusion.core.fusion_core", "coincide.wire.results.match_record"])
def test_without_msgspec_it_is_said_what_to_install(name: str) -> None:
    last = imported(name).stderr.splitlines()[-1]
    assert last == "ImportError: pip install 'coincide[fusion]': records, and the engine of fusion, need msgspec"


@pytest.mark.parametrize("name", ["coincide", "coincide.live", "coincide.queries", "coincide.command.main"])
def test_the_rest_of_the_library_does_without(name: str) -> None:
    assert imported(name).returncode == 0
