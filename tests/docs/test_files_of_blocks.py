"""What a block of a page needs is there: each file that it names exists or was made on the page, and nothing is used
that the page has removed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.generate import ROOT
from tests.docs.sessions import blocks

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(path for path in ROOT.glob("docs/*/*.md") if path.parent.name not in {"adr", "reference"})
ENDINGS = "json|ndjson|csv|yaml|yml|parquet|py|sh|toml|txt|svg|pem|sql"
NAMED = re.compile(rf"(?<![\w/.$-])@?((?:\.{{0,2}}/)?[\w./-]+\.(?:{ENDINGS}))(?![\w/-]|\.\w)")
MADE = re.compile(r"(?:>\s*|\s-o |\s-out |\s-keyout |--out |--picture |\b(?:mv|cp) \S+ )([\w./-]+)")
OF_THE_SYSTEM = (".local/",)  # what a running system, or make, has put there
REMOVED = re.compile(r"-X DELETE \S+/v1/((?:streams|sensors|templates|queries)/[\w.-]+)")


def missing_files(page: str, folder: Path) -> Iterator[str]:
    """Yield the names of files that blocks need and nobody has made before."""
    made: set[str] = set()
    for block in blocks(page, "sh"):
        made |= {found[1] for found in MADE.finditer(block)}
        for found in NAMED.finditer(block):
            name = found[1]
            is_there = (ROOT / name).exists() or (folder / name).exists() or name.startswith(OF_THE_SYSTEM)
            if name not in made and not is_there:
                yield name


def used_after_removal(page: str) -> Iterator[str]:
    """Yield what later blocks name though an earlier one has removed it."""
    removed: set[str] = set()
    for block in re.findall(r"```\w+\n(.*?)```", page, re.DOTALL):
        yield from (name for name in removed if re.search(rf"\b{re.escape(name.partition('/')[2])}\b", block))
        removed |= {found[1] for found in REMOVED.finditer(block)}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_each_file_that_a_block_names_is_there_or_made_on_the_page(path: Path) -> None:
    page = path.read_text(encoding="utf-8")
    assert list(missing_files(page, path.parent)) == []
    assert list(used_after_removal(page)) == []


def test_what_is_missing_is_noticed() -> None:
    page = "```sh\ncurl -d @bang.json\ncat >made.csv\n```\n\n```sh\ncoincide join made.csv config/sensors.yaml\n```\n"
    assert list(missing_files(page, ROOT / "docs")) == ["bang.json"]
    page = "```sh\ncurl -X DELETE http://h/v1/streams/heat\n```\n\n```yaml\n{streams: {heat: t}}\n```\n"
    assert list(used_after_removal(page)) == ["streams/heat"]
