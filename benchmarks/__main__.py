"""List and run benchmarks: `python -m benchmarks [NAME ...]`, or compare two checkouts: `... compare --base PATH`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.harness.declaration import Benchmark, Options
from benchmarks.harness.surroundings import environment, machine

RUN_HERE = "--run-here"


def main() -> int:
    """Run those that are named, or all, each in a process of its own; return how many failed."""
    words = sys.argv[1:]
    if words[:1] == ["compare"]:
        from benchmarks.compare import compare

        return compare(words[1:])
    from benchmarks.registry import BENCHMARKS

    named, options = parse(words, BENCHMARKS)
    if RUN_HERE in words:
        show(BENCHMARKS[named[0]], options)
        return 0
    if "--list" in words:
        print(*(f"{each.name:24} {each.measures}" for each in BENCHMARKS.values()), sep="\n")
        return 0
    arguments = [word for word in words if word not in named]
    return sum(run_apart(BENCHMARKS[name], arguments, options) for name in named)


def parse(words: Sequence[str], known: dict[str, Benchmark]) -> tuple[list[str], Options]:
    """Return the benchmarks that are named, or all, and the options."""
    peers = sorted({peer.name for each in known.values() for peer in each.peers})
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", epilog=f"peers: {', '.join(peers)}; all but spark compete unless you name some"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; none: all of them")
    parser.add_argument("--list", action="store_true", help="say what each benchmark measures, and run none")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: about 10 s each")
    parser.add_argument("--rounds", type=int, help="rounds of each measurement")
    parser.add_argument("--peers", type=lambda text: text.split(","), metavar="PEER,...", help="who competes")
    parser.add_argument("--threads", type=int, default=1, help="of each peer (we use one); above 1, wall time counts")
    parser.add_argument("--postgres", metavar="URL", help="a PostgreSQL server on this machine that competes")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg", help="where to draw the benchmark's picture")
    parser.add_argument("--again", action="store_true", help="draw with the numbers that the picture has")
    parser.add_argument(RUN_HERE, action="store_true", help=argparse.SUPPRESS)
    given = vars(parser.parse_args(words))
    names: list[str] = given["names"] or list(known)
    if unknown := [*(set(names) - set(known)), *(set(given["peers"] or ()) - set(peers))]:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; benchmarks are {', '.join(known)}")
    return names, Options(**{field: given[field] for field in Options._fields})


def run_apart(benchmark: Benchmark, arguments: Sequence[str], options: Options) -> bool:
    """Run one benchmark in a process of its own; return whether it failed."""
    command = [sys.executable, "-m", "benchmarks", benchmark.name, RUN_HERE, *arguments]
    environ = environment(keeps_memory=benchmark.keeps_memory, threads=options.threads)
    return subprocess.run(command, env=environ, check=False).returncode != 0


def show(benchmark: Benchmark, options: Options) -> None:
    """Print what is measured, the tables, and what it ran on."""
    print(f"## {benchmark.name}: {benchmark.measures}\n", flush=True)
    if reason := benchmark.why_not():
        print(f"left out: {reason}\n")
        return
    if absent := [peer.name for peer in benchmark.peers if not peer.competes(options)]:
        print(f"not among the peers: {', '.join(absent)}\n")
    for table in benchmark.tables(options):
        for line in table.lines():
            print(line, flush=True)
        print()
    clock = "wall time" if options.threads > 1 else "CPU time of one thread"
    print(f"{machine()}; {clock} unless said otherwise\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
