"""The variables that a system's processes have: those of its start, and what each later ``make up`` was given.

The process runner keeps the environment that it was started with. So what a person gives to a process that is started
again goes through a file: ``python -m deploy.local.environment MODULE ...`` reads it, and turns into the module.
"""

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

PREFIX = "COINCIDE_"
_FILE = "environment.json"


def keep(runtime: Path, environ: Mapping[str, str], *, adds: bool) -> None:
    """Keep what `environ` has of Coincide for each process that starts from now on; with `adds` what was kept stays."""
    own = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    content = json.dumps({**(kept(runtime) if adds else {}), **own})
    new = runtime / f".{_FILE}.new"
    new.unlink(missing_ok=True)
    new.touch(0o600)  # a secret may be among them
    new.write_text(content, encoding="utf-8")
    new.replace(runtime / _FILE)


def kept(runtime: Path) -> dict[str, str]:
    """Return what is kept; nothing where there is no file, or it cannot be read."""
    with suppress(OSError, ValueError):
        return dict(json.loads((runtime / _FILE).read_text(encoding="utf-8")))
    return {}


def main() -> None:
    """Turn into the module that the arguments name."""
    environ = {**os.environ, **kept(Path(os.environ["COINCIDE_LOCAL_RUNTIME"]))}
    os.execve(sys.executable, [sys.executable, "-m", *sys.argv[1:]], environ)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    main()
