"""Who installs the locks, with what settings, and what happens where one of them cannot."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.host.machine import ROOT, LocalError
from deploy.setup import packages

Put = Callable[[str, str], None]
LOCK = "requirements-run.lock"


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Return what puts a program into an environment in which there is nothing, with a Python that is a script, too."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(packages, "LOGS", tmp_path / "logs")
    (tmp_path / "path").mkdir()

    def put(name: str, script: str) -> None:
        (tmp_path / name).write_text(f'#!/bin/sh\necho "$@" >>{tmp_path / "asked"}\n{script}\n')
        (tmp_path / name).chmod(0o755)

    return put


def asked(tmp_path: Path, *words: str) -> list[str]:
    lines = (tmp_path / "asked").read_text().splitlines()
    return [line for line in lines if all(word in line for word in words)]


def test_the_uv_of_the_machine_installs_with_hashes_and_nothing_is_fetched(put: Put, tmp_path: Path) -> None:
    put("path/uv", "exit 0")
    put("python", "exit 1")
    assert packages.install([LOCK, packages.JAVA_LOCK]) == "uv"
    [installed] = asked(tmp_path, "pip install")
    assert "--require-hashes" in installed
    assert installed.count("-r ") == 2
    assert f"--python {tmp_path / 'python'}" in installed


def test_where_there_is_no_uv_pip_fetches_one_from_its_lock(put: Put, tmp_path: Path) -> None:
    put("path/uv", "exit 127")  # a launcher with nothing behind it
    uv = tmp_path / "uv"
    put("python", f"case \"$*\" in *{packages.UV_LOCK}*) printf '#!/bin/sh\\nexit 0' >{uv}; chmod +x {uv};; esac")
    assert packages.install([LOCK]) == "uv"
    [fetched] = asked(tmp_path, "pip install")
    assert "--require-hashes" in fetched


@pytest.mark.parametrize("fetched", [True, False])
def test_pip_goes_on_where_uv_fails_or_cannot_be_fetched(
    put: Put, tmp_path: Path, capfd: pytest.CaptureFixture[str], fetched: bool
) -> None:
    if fetched:
        put("path/uv", 'test "$1" = --version || { echo "no such index"; exit 1; }')
    put("python", f'case "$*" in *{packages.UV_LOCK}*) exit 1;; esac')
    assert packages.install([LOCK]) == "pip"
    assert asked(tmp_path, "-m pip install", "--require-hashes", LOCK)
    assert ("  no such index" in capfd.readouterr().out) == fetched


def test_where_nobody_can_the_error_names_the_locks(put: Put) -> None:
    put("python", "exit 1")
    with pytest.raises(LocalError, match=f"^{LOCK} and requirements-java.lock could not be installed: is the Python"):
        packages.install([LOCK, packages.JAVA_LOCK])


def test_uv_is_told_what_pip_is_told_and_the_environment_comes_last() -> None:
    listed = "\n".join(
        [
            ":env:.index-url='https://mirror.example/simple'",
            "global.cert='/etc/authorities.pem'",
            "global.index-url='https://other.example/simple'",
            "install.extra-index-url='https://a.example\\nhttps://b.example'",
            "global.timeout='60'",
        ]
    )
    assert packages.uv_settings(listed) == {
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "SSL_CERT_FILE": "/etc/authorities.pem",
        "UV_INDEX": "https://a.example https://b.example",
    }


def test_the_set_up_needs_no_package() -> None:
    """It runs before there is one; -S leaves out those that are here."""
    command = [sys.executable, "-S", "-c", "import deploy.setup.packages"]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)


def test_the_command_runs_in_any_folder(tmp_path: Path) -> None:
    site, elsewhere = tmp_path / "site-packages", tmp_path / "elsewhere"
    site.mkdir()
    elsewhere.mkdir()
    (site / "coincide").symlink_to(tmp_path / "a-checkout-that-was-moved")
    packages.link_packages(site, tmp_path)
    packages.link_packages(site, tmp_path)
    environ = {"PYTHONPATH": str(site), "PATH": "/bin"}
    python = [sys.executable]
    for command in (
        [*python, "-m", "coincide", "--version"],
        [str(tmp_path / "coincide"), "serve", "--help"],
        [*python, "-c", "import services.line.command"],
    ):
        subprocess.run(command, cwd=elsewhere, env=environ, check=True, timeout=60, capture_output=True)
    assert subprocess.run([*python, "-c", "import deploy"], cwd=elsewhere, env=environ, check=False).returncode


def test_a_package_that_somebody_has_installed_stays(tmp_path: Path) -> None:
    (tmp_path / "coincide").mkdir()
    packages.link_packages(tmp_path, tmp_path / "scripts")
    assert not (tmp_path / "coincide").is_symlink()
    assert not (tmp_path / "scripts").exists()
