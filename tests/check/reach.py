"""Which tests a change may break: those that import what changed, if through others, and those that name it."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

from tests.check.ledger import ROOT

PACKAGES = ("coincide", "services", "spark_jobs", "deploy", "trials", "benchmarks", "docs", "tests")
#: What every page is judged by.
OF_PAGES = ("tests/docs/test_documents.py", "tests/docs/test_page_blocks.py")


def distances(changed: Iterable[str], root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> dict[str, int]:
    """Return the files of tests that a change of files reaches, each with the number of imports in between.

    A conftest is imported by the tests below it. A file that is no module is reached by the tests that name it.
    """
    graph = _graph(root, tuple(packages))
    modules = {path: _module(path) for path in changed if path.endswith(".py")}
    found = dict.fromkeys(modules.values(), 0)
    others = [path for path in changed if path.endswith("conftest.py") or modules.get(path) not in graph.modules]
    found |= {_module(test): 1 for path in others for test in _named_in(path, graph, root)} | found
    nearest = list(found)
    while nearest:
        nearest = [each for module in nearest for each in _importers(graph, module) - found.keys()]
        distance = {module: max(found.values()) + 1 for module in nearest}
        found |= distance
        nearest = list(distance)
    tests = {_file(module): at for module, at in found.items() if _is_test(module)}
    return {path: at for path, at in tests.items() if (root / path).is_file()}


def _graph(root: Path, packages: tuple[str, ...]) -> grimp.ImportGraph:
    sys.path.insert(0, str(root))
    try:
        return grimp.build_graph(*packages, cache_dir=None)
    finally:
        sys.path.remove(str(root))


def _importers(graph: grimp.ImportGraph, module: str) -> set[str]:
    """Return what imports a module; of a conftest, also the tests that it gives fixtures."""
    found = graph.find_modules_that_directly_import(module) if module in graph.modules else set()
    if module.endswith(".conftest"):
        below = module.removesuffix("conftest")
        found |= {each for each in graph.modules if each.startswith(below) and _is_test(each)}
    return found


def _named_in(path: str, graph: grimp.ImportGraph, root: Path) -> list[str]:
    """Return the tests in which the name of a file stands."""
    name = re.compile(rf"(?<![\w.-]){re.escape(Path(path).name)}(?![\w-])")
    tests = [_file(module) for module in graph.modules if _is_test(module)]
    of_pages = [*OF_PAGES] if path.endswith(".md") else []
    return of_pages + [each for each in tests if name.search((root / each).read_text(encoding="utf-8"))]


def _is_test(module: str) -> bool:
    return module.rpartition(".")[2].startswith("test_")


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"
