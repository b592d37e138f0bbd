"""Where things lie in the checkout; nothing here depends on the working directory."""

from pathlib import Path

#: The checkout.
ROOT = Path(__file__).resolve().parents[2]
#: Ignored by git: everything that running the system leaves behind.
RUNTIME = ROOT / ".local"
#: Files that this package reads.
HERE = Path(__file__).resolve().parent
