"""Every target; what stands before the slash in its name is the module that has it, and the place in the system."""

from collections.abc import Iterator
from importlib import import_module

from trials.fuzz.target import Target

MODULES = ("ingest", "fusion", "alerting", "registry", "documents", "files", "saved")


def targets_in(module: str) -> dict[str, Target]:
    """Return the targets of a module by their names; no other module is imported."""
    return {each.name: each for each in import_module(f"{__name__}.{module}").TARGETS}


def target_of(name: str) -> Target:
    return targets_in(name.partition("/")[0])[name]


def every_target() -> Iterator[Target]:
    for module in MODULES:
        yield from targets_in(module).values()
