import doctest
import importlib
import pkgutil

import pytest

import coincide

MODULES = sorted(module.name for module in pkgutil.walk_packages(coincide.__path__, "coincide."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    names = {**{public: getattr(coincide, public) for public in coincide.__all__}, **vars(module)}
    assert doctest.testmod(module, extraglobs=names).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name))) >= 15
