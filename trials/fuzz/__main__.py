"""``python -m trials.fuzz``: what ``make fuzz`` runs. Exit status 1: something was found."""

import argparse
import secrets
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from deploy.host.machine import ROOT, LocalError, exit_with
from trials.chaos.__main__ import duration_s
from trials.fuzz.search import Search, Searched, table
from trials.fuzz.services import searched_services
from trials.fuzz.targets import every_target, target_of
from trials.fuzz.trial import tried

SERVICES = "rest"
OF_SERVICES = 0.25  # of the time
NO_ATHERIS = "atheris is not here: `.venv/bin/python -m pip install atheris` (Linux on x86-64, Python 3.11 to 3.13)"


def _chosen(words: list[str]) -> list[str]:
    names = [each.name for each in every_target()]
    found = [name for name in names if not words or any(word in name for word in words)]
    if not found and SERVICES not in words:
        raise LocalError(f"no target has {' or '.join(words)} in its name: there are {', '.join([SERVICES, *names])}")
    return found


def _repeat(target: str, content: Path) -> None:
    found = tried(target_of(target), content.read_bytes())
    print(found.said if found else "It is taken as it should be.", flush=True)
    sys.exit(0 if found is None else 1)


def _searched(seconds: float, seed: int, words: list[str]) -> list[Searched]:
    """Search what is chosen, and say what was found as soon as it is known."""
    targets, has_services = _chosen(words), not words or SERVICES in words
    if targets and find_spec("atheris") is None:
        raise LocalError(NO_ATHERIS)
    folder = Path(tempfile.mkdtemp(prefix="coincide-fuzz-"))
    print(f"seed {seed}, findings in {folder}", flush=True)
    of_services = (OF_SERVICES if targets else 1.0) * has_services
    found: list[Searched] = []
    for each in Search(seconds * (1 - of_services), seed, folder, ROOT / ".local" / "fuzz").of(targets):
        found.append(each)
        print("\n".join([f"{each.target}: {each.inputs:,} inputs", *each.findings]), flush=True)
    return [*found, searched_services(seconds * of_services, seed)] if has_services else found


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.fuzz", description="Try bytes that nobody would send.")
    parser.add_argument("--for", dest="seconds", type=duration_s, default="1h", help="how long, such as 10m or 1h")
    parser.add_argument("--seed", type=int, help="what is tried; one is made up and printed if left out")
    parser.add_argument("--only", action="append", default=[], help="targets whose names have this in them")
    parser.add_argument("--repeat", nargs=2, metavar=("TARGET", "FILE"), help="try one input again")
    given = parser.parse_args()
    if given.repeat:
        _repeat(given.repeat[0], Path(given.repeat[1]))
    found = _searched(given.seconds, secrets.randbelow(2**31) if given.seed is None else given.seed, given.only)
    print("", table(found), sep="\n", flush=True)
    sys.exit(1 if any(each.findings for each in found) else 0)


if __name__ == "__main__":
    exit_with(_main)
