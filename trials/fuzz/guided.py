"""``python -m trials.fuzz.guided``: one target, and inputs that libFuzzer finds by the lines that they reach.

atheris looks at every branch of our own modules. What breaks the law is written down, once for each line where it does,
and the search goes on. A process of its own, for libFuzzer never returns.
"""

import argparse
import json
import logging
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import atheris

from trials.fuzz.mutations import RAW, mutated
from trials.fuzz.target import MOST_BYTES, Target, file_name
from trials.fuzz.targets import target_of

if TYPE_CHECKING:
    from trials.fuzz.trial import Finding

OURS = ["coincide", "services", "spark_jobs"]
HANGS_S = 600  # by the clock, and the machine may have other work
MOST_MB = 4_096
TOLD_EVERY_S = 1.0


class Search:
    """Tries inputs, keeps the first finding of each kind, and tells how far it is."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._target, self._folder = target, folder
        self._begun_s = self._told_s = time.monotonic()
        self._inputs = 0
        self._found: dict[tuple[str, str, str], Finding] = {}

    def take(self, content: bytes) -> None:
        """Try one input; libFuzzer calls it."""
        from trials.fuzz.trial import tried  # noqa: PLC0415 - what it imports is looked into

        self._inputs += 1
        found = tried(self._target, content)
        if found is not None and found.kind not in self._found:
            self._found[found.kind] = found
            (self._folder / f"{found.name}.input").write_bytes(content)
            (self._folder / f"{found.name}.txt").write_text(found.said, encoding="utf-8")
            self._tell()
        elif time.monotonic() - self._told_s > TOLD_EVERY_S:
            self._tell()

    def _tell(self) -> None:
        self._told_s = time.monotonic()
        findings = [{"name": each.name, "what": each.what, "place": each.place} for each in self._found.values()]
        told = {"inputs": self._inputs, "took_s": self._told_s - self._begun_s, "findings": findings}
        (self._folder / f"{file_name(self._target.name)}.json").write_text(json.dumps(told), encoding="utf-8")


def _mutator(content: bytes, most_bytes: int, seed: int) -> bytes:
    changed = mutated(content, Random(seed), lambda part: bytes(atheris.Mutate(part, MOST_BYTES)))
    return changed[:most_bytes]


def _words(seeds: Sequence[bytes], path: Path) -> None:
    """Write libFuzzer's dictionary: the names in the seeds, and pieces of JSON."""
    names = {name for seed in seeds for name in seed.split(b'"')[1::2] if 0 < len(name) <= 40}
    words = sorted({b'"%s"' % name for name in names} | {piece for piece in RAW if len(piece) < 40})
    path.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in words))


def _given() -> Any:
    parser = argparse.ArgumentParser(prog="python -m trials.fuzz.guided", description="Fuzz one target.")
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--corpus", type=Path, required=True, help="inputs that were of use; more are added")
    parser.add_argument("--folder", type=Path, required=True, help="where findings and figures go")
    return parser.parse_args()


def _main() -> None:
    given = _given()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with atheris.instrument_imports(include=OURS):
        target = target_of(given.target)
    given.corpus.mkdir(parents=True, exist_ok=True)
    given.folder.mkdir(parents=True, exist_ok=True)
    seeds = target.seeds()
    for nth, seed in enumerate(seeds):
        (given.corpus / f"seed-{nth}").write_bytes(seed)
    words = given.folder / f"{file_name(target.name)}.words"
    _words(seeds, words)
    options = {"max_total_time": given.seconds, "seed": given.seed, "max_len": MOST_BYTES, "len_control": 0}
    options |= {"timeout": HANGS_S, "rss_limit_mb": MOST_MB, "dict": words, "print_final_stats": 1}
    options |= {"artifact_prefix": f"{given.folder / file_name(target.name)}-"}
    search = Search(target, given.folder)
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items()), str(given.corpus)]
    atheris.Setup(arguments, search.take, custom_mutator=_mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    _main()
