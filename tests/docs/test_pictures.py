"""The numbers written into the pictures of the documents are those that the code computes now, or benchmarks said."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.coalescing import schemes
from benchmarks.registry import BENCHMARKS
from docs.generate import ROOT
from docs.pictures import Numbers, coalescing, numbers_in, papers, rounded, timing_join, what_p_means, window_join
from tests.console.test_views import VIEWS

PICTURES = {
    path: numbers
    for page in (timing_join, what_p_means, window_join, coalescing, papers)
    for path, (_, numbers) in page.PICTURES.items()
}
EARTHQUAKE = {f"docs/background/earthquake-morning/{name}.svg" for name in ("pairs", "events", "episodes")}
OF_DATA = {
    *EARTHQUAKE,
    "docs/background/papers/central-italy-work.svg",
}  # see the tests of these pages
SHOWN_VIEW = re.compile(
    r'<picture>\n  <source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\n'
    r'  <img src="([^"]+)" alt="([^"]+)" width="1280" height="800">\n</picture>'
)
MOST_BYTES = 200_000
OF_TIMES = ROOT / "docs/background/benchmarks/coalescing-schemes.svg"  # measured once


@pytest.mark.parametrize(("path", "numbers"), PICTURES.items(), ids=[path.stem for path in PICTURES])
def test_a_picture_shows_what_the_code_gives(path: Path, numbers: Callable[[], Numbers]) -> None:
    shown, now = numbers_in(path), rounded(numbers())
    assert shown.keys() == now.keys()
    for name, values in shown.items():
        assert len(values) > 0
        assert values == pytest.approx(now[name], abs=1e-5), f"{name}: draw {path.name} anew"


def test_every_view_of_the_console_is_shown_in_both_themes_and_told_in_words() -> None:
    views = ROOT / "docs/how-to/look-at-it"
    shown = set()
    for page in (ROOT / "docs/how-to/look-at-it.md", ROOT / "README.md"):
        for dark, light, words in SHOWN_VIEW.findall(page.read_text(encoding="utf-8")):
            assert light.replace("-light.", "-dark.") == dark
            assert len(words.split()) > 8, f"{page.name}: say more of {light} to who cannot see it"
            shown |= {(page.parent / each).resolve() for each in (dark, light)}
    assert shown == set(views.iterdir())
    assert len(shown) == 2 * len(VIEWS)
    assert {path.name: path.stat().st_size for path in shown if path.stat().st_size > MOST_BYTES} == {}
    for path in shown:
        assert path.read_bytes().startswith(b"\x89PNG"), path.name


def test_every_picture_is_checked() -> None:
    assert {*PICTURES, *(ROOT / path for path in OF_DATA), OF_TIMES} == set(ROOT.glob("docs/**/*.svg"))


def test_the_numbers_need_no_matplotlib() -> None:
    drawing = "from docs.pictures import coalescing, papers, timing_join, what_p_means, window_join"
    script = f"import sys; sys.modules['matplotlib'] = None; {drawing}"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=60)


def test_every_benchmark_that_a_document_names_is_listed() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md"))
    named = set(re.findall(r"python -m benchmarks[. ](\w+)|\(`benchmarks/(\w+)\.py`", pages))
    assert len(named) >= 8
    assert {module or file for module, file in named} - {"compare"} <= set(BENCHMARKS)


def test_the_table_of_timed_schemes_shows_what_the_picture_does() -> None:
    page = (ROOT / "docs/background/benchmarks.md").read_text(encoding="utf-8")
    rows = schemes.rows(numbers_in(OF_TIMES))
    assert "\n".join(rows) in page
