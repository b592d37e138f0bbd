"""Where the tests find a browser, and what they do where there is none."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import browser

Install = Callable[[str, str], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """A machine without a browser, where nothing can be installed; return what puts a program on it."""
    for name in ("CI", "COINCIDE_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    browser._found.cache_clear()
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    names = ("chromium-of-the-test", "chrome-of-the-test")
    monkeypatch.setattr(browser, "NAMES", names)
    monkeypatch.setattr(browser, "PLAYWRIGHT", (f"{tmp_path}/playwright",))
    monkeypatch.setattr(browser, "APT", (f"{tmp_path}/apt",))

    def install(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    yield install
    browser._found.cache_clear()


def found() -> str:
    return Path(browser.find_browser()).name


def test_the_browser_of_the_machine_is_the_first(machine: Install) -> None:
    machine("playwright", "exit 0")
    machine("chrome-of-the-test", "exit 0")
    assert found() == "chrome-of-the-test"


@pytest.mark.parametrize(("starts", "name"), [(True, "chrome-headless-shell"), (False, "chromium-of-the-test")])
def test_playwright_downloads_one_else_the_distribution_has_it(
    machine: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts: bool, name: str
) -> None:
    """What was downloaded counts only if it starts."""
    program = tmp_path / "cache" / "linux" / "chrome-headless-shell"
    download = f"mkdir -p {program.parent}; printf '#!/bin/sh\\nexit {int(not starts)}' >{program}; chmod +x {program}"
    machine(
        "playwright",
        f'if [ "$1" = --dry-run ]; then echo "  Install location:    {tmp_path}/cache"; else {download}; fi',
    )
    packaged = tmp_path / "chromium-of-the-test"
    machine("apt", f"if [ $1 = install ]; then touch {packaged}; chmod +x {packaged}; fi")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert found() == name


@pytest.mark.parametrize("variable", ["CI", "COINCIDE_BROWSER", None])
def test_where_there_is_none_the_test_is_skipped_and_in_ci_it_fails(
    machine: Install, monkeypatch: pytest.MonkeyPatch, variable: str | None
) -> None:
    if variable:
        monkeypatch.setenv(variable, "needed")
    with pytest.raises(pytest.fail.Exception if variable else pytest.skip.Exception, match="there is no browser here"):
        found()


def test_ci_needs_one() -> None:
    assert "\nexport COINCIDE_BROWSER=needed" in (Path(__file__).parents[2] / ".ci/run").read_text()
