"""Every package and jar that is shipped is a part, under its name in the world and with its licence."""

import re
import sys
import tomllib

import pytest

from deploy.host.machine import ROOT
from deploy.jvm.jars import CHECKSUMS, read_checksums
from deploy.supply.parts import IMAGE_ENVIRONMENT, JAR_ORIGINS, LOCKS, ShippedPart, licence_of, parts

#: Licences are read from what is installed, and another Python has other versions of some packages.
OF_THE_IMAGES = pytest.mark.skipif(
    f"{sys.version_info[0]}.{sys.version_info[1]}" != IMAGE_ENVIRONMENT["python_version"],
    reason="this Python is not that of the images",
)


@pytest.fixture(scope="module")
def listed() -> list[ShippedPart]:
    return parts()


@pytest.mark.parametrize("image", LOCKS)
def test_every_pin_of_an_image_is_a_part(image: str, listed: list[ShippedPart]) -> None:
    lock = LOCKS[image].read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+==[\w.+!]+)(?: ; (.+?))? \\$", lock, re.MULTILINE)
    always = {f"pkg:pypi/{pin.replace('==', '@')}" for pin, marker in pins if not marker}
    sometimes = {f"pkg:pypi/{pin.replace('==', '@')}" for pin, marker in pins if marker}
    mine = {part.purl for part in listed if image in part.used_by and part.purl.startswith("pkg:pypi/")}
    assert always <= mine <= always | sometimes
    assert len(always) > 10
    names = [purl.split("@")[0] for purl in mine]
    assert len(names) == len(set(names)), "an image has one version of each"
    dockerfile = (ROOT / f"deploy/Dockerfile.{image}").read_text(encoding="utf-8")
    assert LOCKS[image].name in dockerfile
    assert f"FROM python:{IMAGE_ENVIRONMENT['python_version']}-" in dockerfile


def test_every_jar_is_a_part_with_its_checksum(listed: list[ShippedPart]) -> None:
    jars = {
        (f"{'broker' if part.used_by == ('broker',) else 'spark'}/{part.name}-{part.version}.jar", *part.sha256)
        for part in listed
        if part.purl.startswith("pkg:maven/")
    }
    assert jars == set(read_checksums(CHECKSUMS).items())


def test_no_origin_is_of_a_jar_that_is_gone(listed: list[ShippedPart]) -> None:
    origins = tomllib.loads(JAR_ORIGINS.read_text(encoding="utf-8"))
    assert {name for jars in origins.values() for name in jars} == {part.name for part in listed if part.group}


def test_a_jar_has_the_group_that_it_is_fetched_by(listed: list[ShippedPart]) -> None:
    ivy = (ROOT / "deploy/jvm/ivy.xml").read_text(encoding="utf-8")
    fetched = re.findall(r'org="([^"]+)" name="([^"]+)" rev="([^"]+)"', ivy)
    assert len(fetched) == 7
    assert {f"pkg:maven/{org}/{name}@{rev}" for org, name, rev in fetched} <= {part.purl for part in listed}


@OF_THE_IMAGES
def test_every_part_names_its_licence(listed: list[ShippedPart]) -> None:
    assert not [part.purl for part in listed if not part.licence]
    known = {part.name: part.licence for part in listed}
    assert known["pyspark"] == known["kafka_2.13"] == "Apache-2.0"
    assert known["h11"] == "MIT"


def test_a_licence_is_that_of_the_version_that_is_shipped() -> None:
    assert licence_of("h11", "0.0.1") is None
    assert licence_of("no-such-package", "1") is None
