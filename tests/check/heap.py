"""A plugin of pytest: the garbage collector rests while tests are collected, and later passes over what that made.

Thousands of tests are a heap of hundreds of megabytes that lives to the end. To look through it again and again took
a third of the time of the collection, and slowed the tests.
"""

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the collector of garbage; what is garbage then goes at once."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_unconfigure() -> None:
    """Give it back: at the end of the process some libraries look for what nobody let go of, and complain."""
    gc.unfreeze()
