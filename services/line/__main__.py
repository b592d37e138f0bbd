"""``python -m services.line``: the command ``coincide serve`` by itself."""

import argparse
import sys
from collections.abc import Sequence

from services.line.command import add, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; return the exit status."""
    return run(add(argparse.ArgumentParser(prog="coincide").add_subparsers()).parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
