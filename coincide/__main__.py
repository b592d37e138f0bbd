"""``python -m coincide``: the command, from a checkout or wherever the package is installed."""

from __future__ import annotations

import sys

from coincide.command.main import main

if __name__ == "__main__":
    sys.exit(main())
