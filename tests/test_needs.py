"""What tests need beyond Python is installed before them, told where it is not, and only looked for by them."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.host.machine import ROOT
from tests import needs
from tests.needs import NEEDS, Need, __main__, debian, found
from tests.needs.debian import candidates, no_service_starts, offered

Put = Callable[[str, str], None]

LISTED = """\
jq:
  Installed: (none)
  Candidate: 1.6-2.1
  Version table:
     1.6-2.1 500
golang-go:
  Installed: (none)
  Candidate: 2:1.19~1
nothing:
  Installed: (none)
  Candidate: (none)
"""


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Return what puts a program on a machine that has nothing, of whose Debian we are root."""
    for name in ("CI", "COINCIDE_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(debian, "LOG", tmp_path / "log")
    monkeypatch.setattr(debian, "POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(debian, "SYSTEMD_RUNS", tmp_path / "systemd")
    monkeypatch.setattr(needs, "NEEDS", WANTED)
    monkeypatch.setattr(__main__, "NEEDS", WANTED)
    monkeypatch.setattr(__main__, "browser_program", lambda: "a browser")

    def put(name: str, script: str) -> None:
        (programs / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path / "asked"}\n{script}\n')
        (programs / name).chmod(0o755)

    return put


WANTED = (
    Need(("wanted", "wanted-dev"), lambda: needs.program("wanted-program"), "a thing", services=("wanted.service",)),
    Need(("rare",), lambda: needs.program("rare-program"), "a rare thing", since="2", optional=True),
)
ON_OFFER = "printf '%s:\\n  Installed: (none)\\n  Candidate: 1\\n' wanted wanted-dev rare"


def debian_that_has_it(put: Put, tmp_path: Path) -> None:
    program = tmp_path / "programs" / "wanted-program"
    made = f"printf '#!/bin/sh' >{program}; chmod +x {program}"
    put("apt-get", f'case "$*" in *" wanted "*) {made};; esac')
    put("apt-cache", ON_OFFER)


def test_what_is_missing_is_installed_at_once_and_no_service_starts(
    put: Put, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    debian_that_has_it(put, tmp_path)
    put("systemctl", "exit 0")
    (tmp_path / "systemd").mkdir()
    assert __main__.main() == 0
    update, _, install, disable = (tmp_path / "asked").read_text().splitlines()
    assert update.endswith(" update")
    assert re.search(r" install --yes --no-install-recommends wanted wanted-dev$", install)
    assert disable == "systemctl --quiet disable wanted.service"
    said = capsys.readouterr().out
    assert re.search(r"^Installed for the tests in \d+ s: wanted; no service was started$", said, re.MULTILINE)
    assert "Left out of the tests, for lack of a program: a rare thing (rare)\n" in said


def test_a_machine_that_has_all_is_left_alone(put: Put, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("apt-get", "wanted-program", "rare-program"):
        put(name, "exit 1")
    assert __main__.main() == 0
    assert not (tmp_path / "asked").exists()
    assert capsys.readouterr().out == "All that the tests need beyond Python is here.\n"


@pytest.mark.parametrize(("variable", "status"), [(None, 0), ("CI", 1), ("COINCIDE_BROWSER", 1)])
def test_without_the_right_to_install_a_sentence_says_what_is_left_out_and_ci_fails(
    put: Put,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variable: str | None,
    status: int,
) -> None:
    debian_that_has_it(put, tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    if variable:
        monkeypatch.setenv(variable, "needed")
    assert __main__.main() == status
    assert not (tmp_path / "asked").exists()
    [*_, said] = capsys.readouterr().out.splitlines()
    assert said == (
        "Left out of the tests, for lack of a program: a thing (wanted); a rare thing (rare). "
        "On Debian: sudo apt-get install --yes --no-install-recommends wanted wanted-dev"
    )


def test_an_apt_that_fails_is_told(put: Put, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    put("apt-get", "echo 'E: no such mirror'; exit 100")
    assert __main__.main() == 0
    said = capsys.readouterr().out
    assert "apt-get update failed" in said
    assert "E: no such mirror" in said
    assert "a thing (wanted)" in said


@pytest.mark.parametrize(
    ("variable", "name", "fails"), [(None, "wanted", False), ("CI", "wanted", True), ("CI", "rare", False)]
)
def test_a_test_without_it_is_skipped_and_in_ci_it_fails(
    put: Put, monkeypatch: pytest.MonkeyPatch, variable: str | None, name: str, fails: bool
) -> None:
    if variable:
        monkeypatch.setenv(variable, "true")
    with pytest.raises(pytest.fail.Exception if fails else pytest.skip.Exception, match=f"package {name} has"):
        found(name)
    put("wanted-program", "")
    assert found("wanted").endswith("/wanted-program")


def test_only_versions_on_offer_that_serve_are_installed(put: Put) -> None:
    assert candidates(LISTED) == {"jq": "1.6-2.1", "golang-go": "2:1.19~1"}
    put("apt-cache", ON_OFFER)
    assert offered(WANTED) == [WANTED[0]]


@pytest.mark.parametrize("own", [True, False])
def test_services_may_not_start_meanwhile_and_a_rule_of_the_machine_stays(tmp_path: Path, own: bool) -> None:
    policy = tmp_path / "policy-rc.d"
    if own:
        policy.write_text("of the machine")
    with no_service_starts(policy):
        assert ("exit 101" in policy.read_text()) != own
        assert own or policy.stat().st_mode & 0o111
    assert policy.exists() == own


def test_every_need_has_a_name_of_its_own_and_a_reason() -> None:
    assert len({need.name for need in NEEDS}) == len(NEEDS)
    assert all(need.why for need in NEEDS)


def test_tests_ask_only_for_what_is_in_the_list() -> None:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))
    asked = {name for source in sources for name in re.findall(r'\bfound\("([^"]+)"\)', source)}
    assert len(asked) >= 10
    assert asked <= {need.name for need in NEEDS}


def test_ci_needs_all() -> None:
    assert "\nexport COINCIDE_BROWSER=needed" in (ROOT / ".ci/run").read_text()
