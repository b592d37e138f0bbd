"""What is shipped: a wheel with the pure library alone, and locks that any registry can serve."""

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from deploy.local.machine import ROOT

LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_library_alone(wheel: zipfile.ZipFile) -> None:
    tops = {Path(name).parts[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"coincide"}
    assert "coincide/py.typed" in wheel.namelist()


def test_numpy_is_the_librarys_only_dependency(wheel: zipfile.ZipFile) -> None:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    required = Parser().parsestr(wheel.read(name).decode()).get_all("Requires-Dist") or []
    assert [line for line in required if "extra ==" not in line] == ["numpy>=1.26"]


def test_the_wheel_installs_the_command(wheel: zipfile.ZipFile) -> None:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt")]
    assert "coincide = coincide.command.main:main" in wheel.read(name).decode()


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_with_hashes_and_names_no_registry(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pinned = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert pinned
    assert all("==" in line and line.endswith("\\") for line in pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text
    assert "index" not in text.replace("importlib", "")
