"""What is shipped, part by part: the packages of the two images by their locks, and the jars by their checksums."""

import importlib.metadata
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker

from deploy.host.machine import ROOT
from deploy.jvm.jars import CHECKSUMS, read_checksums

#: The lock of each image.
LOCKS = {"services": ROOT / "requirements-services.lock", "fusion": ROOT / "requirements-jobs.lock"}
#: Which of the locked packages an image installs: those for its Python, as deploy/Dockerfile.* name it, on Linux.
IMAGE_ENVIRONMENT = {
    "python_version": "3.11",
    "python_full_version": "3.11.0",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "os_name": "posix",
}
JAR_ORIGINS = Path(__file__).with_name("jars.toml")

_PINNED = re.compile(r"^([\w.-]+)==([^\s;]+)(?: ; (.*?))? \\$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:(\w+)")
_CLASSIFIER = "License :: OSI Approved :: "
_LONGEST_NAME = 60  # a longer "License" is a licence's text


@dataclass(frozen=True)
class ShippedPart:
    """One package or jar in the one version that is shipped."""

    purl: str  # its name in the world, such as pkg:pypi/numpy@2.3.1
    group: str | None
    name: str
    version: str
    licence: str | None  # as its makers name it, an SPDX expression at best; None: they do not say
    sha256: tuple[str, ...]  # of the files that may be installed: one a platform, or the only one
    used_by: tuple[str, ...]  # images, or `broker` for Kafka


def parts() -> list[ShippedPart]:
    """Return all parts, each once, by their purl."""
    return sorted([*_packages(), *_jars()], key=lambda part: part.purl)


def _packages() -> list[ShippedPart]:
    found: dict[tuple[str, str], tuple[set[str], list[str]]] = {}
    for image, lock in LOCKS.items():
        for entry in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8")):
            pinned = _PINNED.match(entry)
            if pinned and (not pinned[3] or Marker(pinned[3]).evaluate(IMAGE_ENVIRONMENT)):
                hashes, images = found.setdefault((pinned[1], pinned[2]), (set(), []))
                hashes.update(_HASH.findall(entry))
                images.append(image)
    return [_package(name, version, hashes, images) for (name, version), (hashes, images) in found.items()]


def _package(name: str, version: str, hashes: set[str], images: list[str]) -> ShippedPart:
    purl = f"pkg:pypi/{name}@{version}"
    return ShippedPart(purl, None, name, version, licence_of(name, version), tuple(sorted(hashes)), tuple(images))


def licence_of(name: str, version: str) -> str | None:
    """Return the licence that the installed package names; None where it names none, or is not installed as locked."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    if metadata["Version"] != version:
        return None
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    [named, *_] = metadata.get_all("License") or [""]
    if 0 < len(named) <= _LONGEST_NAME and "\n" not in named:
        return str(named)
    classifiers = metadata.get_all("Classifier") or []
    names = [each.removeprefix(_CLASSIFIER) for each in classifiers if each.startswith(_CLASSIFIER)]
    return ", ".join(names) or None


def _jars() -> list[ShippedPart]:
    origins = tomllib.loads(JAR_ORIGINS.read_text(encoding="utf-8"))
    groups = {name: (group, licence) for group, jars in origins.items() for name, licence in jars.items()}
    return [_jar(path, digest, groups) for path, digest in read_checksums(CHECKSUMS).items()]


def _jar(path: str, digest: str, groups: dict[str, tuple[str, str]]) -> ShippedPart:
    stem, user = Path(path).stem, path.split("/", maxsplit=1)[0]
    [name] = [each for each in groups if stem.startswith(f"{each}-") and stem[len(each) + 1].isdigit()]
    version, (group, licence) = stem[len(name) + 1 :], groups[name]
    used_by = "broker" if user == "broker" else "fusion"
    return ShippedPart(f"pkg:maven/{group}/{name}@{version}", group, name, version, licence, (digest,), (used_by,))
