"""Every block of every page is run, or says above itself who runs it, or for which of a few reasons nobody does."""

from pathlib import Path

import pytest

from docs.generate import ROOT
from tests.docs.page_blocks import PAGES, REASONS, blocks_of, read_blocks, why_not_in_order


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_block_is_run_or_says_why_not(path: Path) -> None:
    assert {str(each): why for each in read_blocks(path) if (why := why_not_in_order(each))} == {}


def test_every_reason_is_given_somewhere() -> None:
    marks = {each.mark for path in PAGES for each in read_blocks(path)}
    assert {f"not run: {reason}" for reason in REASONS} - marks == set()


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("<!-- not run: too boring -->\n\n```sh\nmake up\n```\n", "'too boring' is none of"),
        ("<!-- run by tests/docs/test_nowhere.py -->\n\n```sh\nmake up\n```\n", "does not know this page"),
        ("<!-- run by tests/docs/test_site.py -->\n\n```sh\nmake up\n```\n", "does not know this page"),
        ("<!-- a remark -->\n\n```sh\nmake up\n```\n", "says nothing of how it is run"),
        ("```sql\nSELECT 1\n```\n", "nobody runs it"),
        ("```text\ncurl -sS http://127.0.0.1:8010\n```\n", "is a command"),
        ("```bash\nmake up\n```\n", "'bash'"),
    ],
)
def test_a_block_that_nobody_runs_is_noticed(block: str, why: str) -> None:
    [found] = blocks_of(ROOT / "docs/a-new-page.md", block)
    assert why in str(why_not_in_order(found))
