from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import coincide

MODULES = sorted(module.name for module in pkgutil.walk_packages(coincide.__path__, "coincide."))


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings_run(name: str) -> None:
    module = importlib.import_module(name)
    # numpy's types say numpy.float64(...) in a repr: examples show plain numbers and lists
    names = {**{public: getattr(coincide, public) for public in coincide.__all__}, **vars(module)}
    assert doctest.testmod(module, extraglobs=names).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    tried = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(tried) >= 15
