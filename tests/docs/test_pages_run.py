"""What stands in the blocks of the pages works as pasted, in order, and answers what the page shows."""

from pathlib import Path

import pytest

from deploy.local.system import System
from docs.generate import ROOT
from tests.docs.page_blocks import blocks_of, read_blocks
from tests.docs.page_runs import PageRun, nothing_left

LIVE = [ROOT / "docs/tutorials/first-network.md"]


def run(path: Path, page: PageRun) -> None:
    for block in read_blocks(path):
        if block.is_run:
            page.run(block)


@pytest.mark.jvm
@pytest.mark.parametrize("path", LIVE, ids=lambda path: path.stem)
def test_a_page_works_beside_a_running_system(path: Path, system: System, tmp_path: Path) -> None:
    with nothing_left(system.layout):
        run(path, PageRun(tmp_path, system.layout))


def said_by(page: str, folder: Path) -> list[str]:
    here = PageRun(folder)
    return [here.run(block) for block in blocks_of(ROOT / "page.md", page) if block.is_run]


def test_blocks_are_run_in_order_in_one_place_and_their_answers_compared(tmp_path: Path) -> None:
    page = "```sh\nexport A=1\nb=2\necho 42 >file\n```\n\n```sh\necho $A$b\n```\n\n```text\n12\n```\n\n"
    page += '```python\nwith open("file") as of:\n    a = int(of.read())\n```\n\n```python\n>>> a + 1\n43\n\n```\n\n'
    page += '```sh\necho \'{"id":"m-1","at":5}\'\n```\n\n```json\n{"id": "m-…", "at": 5}\n```\n'
    page += "<!-- not run: needs root -->\n\n```sh\nfalse\n```\n"
    assert said_by(page, tmp_path)[1] == "12\n"


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("```sh\nfalse\n```\n", "page.md:1 ends with 1"),
        ("```sh\nfalse | true\n```\n", "ends with 1"),
        ("```sh\nmake up\n```\n", "may not run this program"),
        ("```sh\ncoincide join nowhere.csv\n```\n", "ends with 2"),
        ("```sh\nexport A=1\n```\n\n```sh\necho $A\n```\n\n```text\n2\n```\n", "page.md:5 answers\n1"),
        ('```sh\necho \'{"a":1}\'\n```\n\n```json\n{"a": 1, …}\n```\n', "and shows"),
        ('```sh\necho \'[{"status": "refused"}]\'\n```\n', "refused"),
        ("```python\n>>> 1 + 1\n3\n\n```\n", "Expected:\n    3\nGot:\n    2"),
    ],
)
def test_a_block_that_does_not_work_is_noticed(page: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as failed:
        said_by(page, tmp_path)
    assert why in str(failed.value)
