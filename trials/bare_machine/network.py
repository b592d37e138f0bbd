"""What a bare machine takes over from this one: how registries are reached, and nothing else."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
#: Of apt, pip and uv, of those who trust certificates, and of proxies.
VARIABLES = re.compile(
    r"(PIP|UV)_\w+|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|GIT_SSL_CAINFO"
    r"|(HTTPS?|ALL|NO)_PROXY|GO(PROXY|NOPROXY|SUMDB|NOSUMDB|PRIVATE)",
    re.IGNORECASE,
)
#: They name folders of this machine.
OWN = {"PIP_FIND_LINKS", "PIP_CACHE_DIR", "UV_FIND_LINKS", "UV_CACHE_DIR"}
FILES = ("etc/resolv.conf", "etc/hosts", "etc/pip.conf", "etc/uv/uv.toml")
AUTHORITIES = Path("usr/local/share/ca-certificates")
APT_SETTINGS = "etc/apt/apt.conf.d/90-of-the-outer-machine"
SOURCES = Path("/etc/apt")

_URI = re.compile(r"^(?:URIs:|deb)\s+(?:\[.*?\]\s+)?(https?://\S+)", re.MULTILINE)


def variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that say how the network is reached."""
    return {name: value for name, value in environ.items() if VARIABLES.fullmatch(name) and name not in OWN}


def mirrors(sources: Path = SOURCES) -> tuple[str, str]:
    """Return where this machine takes Debian from, and its security updates."""
    files = [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*"))]
    known = (".list", ".sources")
    texts = [file.read_text(encoding="utf-8") for file in files if file.suffix in known and file.is_file()]
    found = [uri.rstrip("/") for text in texts for uri in _URI.findall(text) if "debian" in uri]
    packages = next((uri for uri in found if "security" not in uri), MIRROR)
    return packages, next((uri for uri in found if "security" in uri), f"{packages}-security")


def sources_list(suite: str, packages: str, security: str) -> str:
    """Return the sources of a stable Debian."""
    return f"deb {packages} {suite} main\ndeb {packages} {suite}-updates main\ndeb {security} {suite}-security main\n"


def apt_settings(dumped: str) -> str:
    """Return those settings of apt that say how it fetches, as `apt-config dump` shows them."""
    return "".join(f"{line}\n" for line in dumped.splitlines() if re.match(r"Acquire::(?!Languages)", line))


def take_over(root: Path, suite: str, *, outer: Path = Path("/")) -> None:
    """Write into the machine below ``root`` how this one reaches registries."""
    for name in FILES:
        if (outer / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(outer / name, root / name)
    if (outer / AUTHORITIES).is_dir():
        shutil.copytree(outer / AUTHORITIES, root / AUTHORITIES, dirs_exist_ok=True)
    (root / "etc/apt/sources.list").write_text(sources_list(suite, *mirrors(outer / "etc/apt")), encoding="utf-8")
    dumps = shutil.which("apt-config")
    dumped = subprocess.run([dumps, "dump"], check=True, capture_output=True, text=True).stdout if dumps else ""
    (root / APT_SETTINGS).write_text(apt_settings(dumped), encoding="utf-8")
