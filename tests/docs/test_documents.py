"""The documents say what is there: generated pages are fresh, named paths exist, and links lead somewhere."""

import re
from pathlib import Path

import pytest
import yaml

from docs.generate import ROOT, documents

PAGES = sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    return documents()


def test_generated_documents_are_fresh(generated: dict[str, str]) -> None:
    stale = [path for path, content in generated.items() if (ROOT / path).read_text(encoding="utf-8") != content]
    assert not stale, f"run `make docs`: {stale}"


@pytest.mark.parametrize(
    ("page", "pattern", "least"),
    [
        ("settings/", r"^\| `(\w+)` \| .* \| (.*) \|$", 40),
        ("metrics", r"^\| `(\w+)` \| \w+ \| .* \| (.*) \|$", 40),
        ("rest", r"^\| `(\w+)` \| (.*) \|$", 30),
    ],
)
def test_every_generated_row_says_what_it_means(page: str, pattern: str, least: int, generated: dict[str, str]) -> None:
    content = "".join(text for path, text in generated.items() if path.startswith(f"docs/reference/{page}"))
    rows = re.findall(pattern, content, re.MULTILINE)
    assert len(rows) > least
    assert not [name for name, meaning in rows if len(meaning) < (8 if page == "metrics" else 10)]
    assert page != "metrics" or all(name.startswith("coincide_") for name, _ in rows)


def test_every_alert_rule_is_explained() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8"))
    names = {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}
    page = (ROOT / "docs/how-to/answer-an-alert.md").read_text(encoding="utf-8")
    assert names
    assert not [name for name in names if name not in page]


def test_every_path_on_the_architecture_page_exists() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", page)
    assert len(paths) > 10
    assert not [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_block_of_code_ends(page: Path) -> None:
    fences = re.findall(r"^ *```(.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert not [kind for kind in fences[1::2] if kind], "a block begins where one has not ended"
    assert len(fences) % 2 == 0


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / page).read_text(encoding="utf-8"))
    assert not [link for link in links if not (ROOT / page.parent / link).exists()]
