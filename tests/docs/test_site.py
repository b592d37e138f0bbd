"""The site: it is built strictly, every page is in its navigation, every public name in its reference, all its own."""

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docs.generate import PYTHON_PACKAGES, ROOT
from services.console.pages.docs_link import address_in
from services.console.pages.health.fault_list import PAGE

pytestmark = pytest.mark.slow


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of the ``docs`` in ``folder`` there, as `make docs` does."""
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "coincide"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


def pages_in(navigation: Any) -> Iterator[str]:
    if isinstance(navigation, str):
        yield navigation
    else:
        for each in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from pages_in(each)


def test_the_console_leads_to_pages_and_sections_that_the_site_has(site: Path) -> None:
    for section in ("Line stalled", "Dead-letter flood", "What repairs itself"):
        page, _, anchor = address_in("https://docs.example", PAGE, section).partition("#")
        assert f'id="{anchor}"' in (site / page.removeprefix("https://docs.example/")).read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation_once() -> None:
    configuration = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md"))
    assert sorted(pages_in(configuration["project"]["nav"])) == pages


@pytest.mark.parametrize("links", [("other.md", "other.md#there"), ("nowhere.md", "other.md#nowhere")])
def test_a_broken_link_fails(links: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for nth, link in enumerate(links):
        (tmp_path / f"docs/page-{nth}.md").write_text(f"# Page\n\n[link]({link})\n", encoding="utf-8")
    (tmp_path / "docs/index.md").write_text("# Home\n", encoding="utf-8")
    (tmp_path / "docs/other.md").write_text("# Other\n\n## There\n", encoding="utf-8")
    built = build(tmp_path)
    broken = sum("nowhere" in link for link in links)
    assert (built.returncode != 0) == (broken > 0), built.stdout
    assert (built.stdout + built.stderr).count("Warning:") == broken


@pytest.mark.parametrize("name", PYTHON_PACKAGES)
def test_every_public_name_is_in_the_reference(name: str, site: Path) -> None:
    page = (site / f"reference/python/{name}.html").read_text(encoding="utf-8")
    public = importlib.import_module(f"coincide.{name}").__all__
    assert public
    assert not [each for each in public if f'id="coincide.{name}.{each}"' not in page]


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loading = re.compile(r"""<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=["']?(?:https?:)?//[^"'\s>]+""")
    pages = [path for kind in ("html", "css") for path in site.rglob(f"*.{kind}")]
    assert len(pages) > 30
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not loading.findall(text), path
        assert not re.findall(r"@import|url\(\s*[\"']?(?:https?:)?//", text), path


def test_the_search_knows_every_page(site: Path) -> None:
    index = (site / "search.json").read_text(encoding="utf-8")
    assert not [path for path in site.rglob("how-to/*.html") if f"how-to/{path.name}" not in index]
