"""The configuration that is shipped: inside the package where it is installed, beside it in a checkout."""

from pathlib import Path

_SERVICES = Path(__file__).resolve().parents[1]
_INSTALLED = _SERVICES / "config"

#: The folder that the documents call `config/`, as it is shipped.
SHIPPED_CONFIG = _INSTALLED if _INSTALLED.is_dir() else _SERVICES.parent / "config"
