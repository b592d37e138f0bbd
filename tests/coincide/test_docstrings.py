"""Docstrings of the library are sections of numpy's style, which the site shows as tables."""

import logging
from collections.abc import Iterator

import griffe
import pytest


def documented(owner: griffe.Module | griffe.Class) -> Iterator[griffe.Docstring]:
    for member in owner.members.values():
        if member.is_alias:
            continue
        if member.docstring is not None:
            yield member.docstring
        if isinstance(member, griffe.Module | griffe.Class):
            yield from documented(member)


def test_every_parameter_that_a_docstring_names_is_there(caplog: pytest.LogCaptureFixture) -> None:
    package = griffe.load("coincide", resolve_aliases=False)
    assert isinstance(package, griffe.Module)
    with caplog.at_level(logging.WARNING, "griffe"):
        read = [docstring.parse("numpy") for docstring in documented(package)]
    assert len(read) > 500
    assert caplog.messages == []
