"""Uninstall what an extra of pyproject.toml does not need: ``python deploy/keep_only.py services``.

There is one lock, with hashes, for everything.  pip can only install such a lock whole, so the Dockerfiles do that
in a stage of their own and then throw out what their component has no use for (Spark weighs 450 MB).
"""

import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def needed_by(extras: list[str]) -> set[NormalizedName]:
    """Return every distribution that the library or one of ``extras`` needs, directly or through another."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    needed: set[NormalizedName] = set()
    waiting = [(Requirement(line), "") for line in lines]
    seen: set[str] = set()
    while waiting:
        requirement, extra = waiting.pop()
        if str(requirement) in seen or not _applies(requirement, extra):
            continue
        seen.add(str(requirement))
        needed.add(canonicalize_name(requirement.name))
        waiting += _requirements_of(requirement)
    return needed


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _requirements_of(requirement: Requirement) -> list[tuple[Requirement, str]]:
    lines = _installed(requirement.name).requires or []
    return [(Requirement(line), extra) for line in lines for extra in ("", *requirement.extras)]


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError as error:
        raise SystemExit(f"{name} is not installed: install requirements.lock first") from error


def main(extras: list[str]) -> None:
    """Uninstall the rest, pip excepted: it cannot take away itself while it works."""
    keep = needed_by(extras) | {"pip"}
    surplus = sorted({canonicalize_name(each.metadata["Name"]) for each in distributions()} - keep)
    subprocess.run([sys.executable, "-m", "pip", "uninstall", "--yes", "--quiet", *surplus], check=True)  # noqa: S603


if __name__ == "__main__":
    main(sys.argv[1:])
