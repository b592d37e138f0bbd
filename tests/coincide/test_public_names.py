"""The top of the package: its names, its version, and how little a package loads."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import coincide

ROOT = Path(__file__).parents[2]


def test_the_version_is_that_of_the_distribution() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert coincide.__version__ == tomllib.load(file)["project"]["version"]


def test_the_package_shows_its_public_names_and_nothing_else() -> None:
    assert dir(coincide) == sorted([*coincide.__all__, "__version__"])
    assert all(getattr(coincide, name) is not None for name in coincide.__all__)


def test_type_checkers_see_the_same_names_from_the_same_homes() -> None:
    tree = ast.parse(Path(coincide.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        alias.asname: getattr(import_module(str(node.module)), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == {name: getattr(coincide, name) for name in coincide.__all__}


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        coincide.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("module", "packages", "most"),
    [
        ("coincide", "", 1),
        ("coincide.stream", "errors stream", 3),
        ("coincide.templates", "arrays errors templates", 18),
        ("coincide.constraints", "arrays constraints errors", 12),
        ("coincide.probability", "arrays constraints errors probability templates", 43),
        ("coincide.offsets", "arrays constraints errors offsets probability templates", 58),
    ],
)
def test_a_package_loads_only_what_it_stands_on(module: str, packages: str, most: int) -> None:
    code = f"import sys, {module}; print(*(name for name in sys.modules if name.split('.')[0] == 'coincide'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = run.stdout.split()
    assert {name.split(".")[1] for name in loaded if "." in name} == set(packages.split())
    assert len(loaded) <= most
