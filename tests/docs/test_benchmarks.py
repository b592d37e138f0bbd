"""`python -m benchmarks` runs what the documents speak of."""

import re

from benchmarks.coalescing import schemes
from benchmarks.registry import BENCHMARKS
from docs.generate import ROOT
from docs.pictures import numbers_in


def test_every_benchmark_that_a_document_names_is_listed() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/**/*.md"))
    named = set(re.findall(r"python -m benchmarks[. ](\w+)|\(`benchmarks/(\w+)\.py`", pages))
    assert len(named) >= 8
    assert {module or file for module, file in named} - {"compare"} <= set(BENCHMARKS)


def test_the_table_of_timed_schemes_shows_what_the_picture_does() -> None:
    page = (ROOT / "docs/explanation/benchmarks.md").read_text(encoding="utf-8")
    rows = schemes.rows(numbers_in(ROOT / "docs/explanation/benchmarks/coalescing-schemes.svg"))
    assert "\n".join(rows) in page
