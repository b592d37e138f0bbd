"""What stands in the blocks of the pages works as pasted, in order, and answers what the page shows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.local.system import System
from docs.generate import ROOT
from tests.docs.page_blocks import AT_NIGHT, PAGES, blocks_of, read_blocks
from tests.docs.page_runs import PageRun, nothing_left
from tests.on_lines import IN_ONE, ON_SPARK, on_one_whole

#: What is run of each page. Those of the README are run, and their answers judged, by tests/acceptance/test_readme.py.
BLOCKS = {path: [each for each in read_blocks(path) if each.is_run] for path in PAGES if path.name != "README.md"}
LIVE = [path for path, blocks in BLOCKS.items() if any(each.needs_system for each in blocks)]
QUIET = [path for path, blocks in BLOCKS.items() if blocks and path not in LIVE]
#: What a sensor has that tells of its changes and of what was heard.
CHANGES = ("version", "changed_at_us", "changed_by", "health")
NIGHTLY = [path for path in LIVE if any(each.mark == AT_NIGHT for each in BLOCKS[path])]
#: A page that goes on with what the first blocks of another have made.
GOES_ON = {ROOT / "docs/how-to/learn-templates.md": BLOCKS[ROOT / "docs/tutorials/first-network.md"][:2]}
#: What a page does that the line in one process cannot do: ask the past, learn, and run programs beside Kafka.
_OF_KAFKA = re.compile(r"-m (services|spark_jobs)\.|history|learning|what-if|archive")
#: Pages that work on Kafka and Spark, too, as those have to that need them.
ALSO_ON_SPARK = {ROOT / "docs/tutorials/first-network.md"}


def told_on(pages: list[Path]) -> Iterator[Any]:
    """Yield each page with the line that it is run on, or both."""
    for path in pages:
        needs_kafka = any(_OF_KAFKA.search(block.code) for block in BLOCKS[path])
        if not needs_kafka:
            yield pytest.param(path, "one_process", id=f"{path.stem}, {IN_ONE}")
        if needs_kafka or path in ALSO_ON_SPARK:
            marks = [pytest.mark.jvm, pytest.mark.shares("system")]
            yield pytest.param(path, "system", id=f"{path.stem}, {ON_SPARK}", marks=marks)


@pytest.mark.parametrize(("path", "whole"), list(told_on(LIVE)), indirect=["whole"])
def test_a_page_works_beside_a_running_system(path: Path, whole: System, tmp_path: Path) -> None:
    with nothing_left(whole), PageRun(tmp_path, whole) as page:
        for block in [*GOES_ON.get(path, []), *BLOCKS[path]]:
            if block.mark != AT_NIGHT:
                page.run(block)


@pytest.mark.jvm
@pytest.mark.night
@pytest.mark.parametrize("path", NIGHTLY, ids=lambda path: path.stem)
def test_a_page_works_with_what_takes_longer(path: Path, system: System, tmp_path: Path) -> None:
    with nothing_left(system), PageRun(tmp_path, system) as page:
        for block in [*GOES_ON.get(path, []), *BLOCKS[path]]:
            page.run(block)


@on_one_whole
def test_what_a_page_made_is_gone_and_what_it_changed_is_put_back(whole: System) -> None:
    before = whole.ingest.get("/v1/sensors/mic-1").json()
    merge = {"If-Match": "*", "Content-Type": "application/merge-patch+json"}
    with nothing_left(whole):
        whole.ingest.put("/v1/streams/of-a-page", json={}).raise_for_status()
        of_page = {"area": "page", "streams": {"of-a-page": {"point": True}}}
        whole.ingest.put("/v1/sensors/of-a-page", json=of_page).raise_for_status()
        whole.ingest.patch("/v1/sensors/mic-1", json={"expect_every_s": 600}, headers=merge).raise_for_status()
    gone = [whole.ingest.get(f"/v1/{each}/of-a-page").status_code for each in ("sensors", "streams")]
    assert gone == [404, 404]
    after = whole.ingest.get("/v1/sensors/mic-1").json()
    assert after["version"] > before["version"]
    assert {**after, **dict.fromkeys(CHANGES)} == {**before, **dict.fromkeys(CHANGES)}


@pytest.mark.parametrize("path", QUIET, ids=lambda path: path.stem)
def test_a_page_that_needs_no_system_works(path: Path, tmp_path: Path) -> None:
    with PageRun(tmp_path) as page:
        for block in BLOCKS[path]:
            page.run(block)


def said_by(page: str, folder: Path) -> list[str]:
    with PageRun(folder) as here:
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
