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


def test_the_package_shows_its_public_names_and_refuses_others() -> None:
    assert dir(coincide) == sorted([*coincide.__all__, "__version__"])
    assert all(getattr(coincide, name) is not None for name in coincide.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        coincide.nothing  # noqa: B018


def test_type_checkers_see_the_same_names_from_the_same_homes() -> None:
    tree = ast.parse(Path(coincide.__file__).read_text(encoding="utf-8"))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    declared = {
        each.asname: getattr(import_module(str(node.module)), each.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    assert declared == {name: getattr(coincide, name) for name in coincide.__all__}


@pytest.mark.parametrize(
    ("module", "packages", "most"),
    [
        ("coincide", "", 1),
        ("coincide.stream", "arrays errors stream templates", 17),
        ("coincide.templates", "arrays errors templates", 18),
        ("coincide.places", "arrays constraints errors places", 20),
        ("coincide.constraints", "arrays constraints errors", 12),
        ("coincide.probability", "arrays constraints errors probability templates", 49),
        ("coincide.offsets", "arrays constraints errors offsets probability templates", 57),
        ("coincide.thresholds", "arrays constraints errors offsets probability templates thresholds", 68),
        ("coincide.sources", "arrays constraints errors places probability sources templates", 66),
        ("coincide.evidence", "arrays constraints errors evidence probability templates", 66),
    ],
)
def test_a_package_loads_only_what_it_stands_on(module: str, packages: str, most: int) -> None:
    code = f"import sys, {module}; print(*(name for name in sys.modules if name.split('.')[0] == 'coincide'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = run.stdout.split()
    assert {name.split(".")[1] for name in loaded if "." in name} == set(packages.split())
    assert len(loaded) <= most
