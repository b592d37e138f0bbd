"""Jars are fetched once, and only those whose checksums are written down are used."""

import hashlib
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from deploy.local import jars
from deploy.local.failure import LocalError
from deploy.local.jars import CHECKSUMS, IVY_FILE, ensure_jars
from deploy.local.java import Java

#: Running it fails, so a test that passes has started no Java.
NO_JAVA = Java(Path("/nowhere"), 17)


def test_a_complete_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    wanted = hashlib.sha256(IVY_FILE.read_bytes() + CHECKSUMS.read_bytes()).hexdigest()
    (tmp_path / "jars" / "complete").write_text(wanted)
    assert ensure_jars(NO_JAVA, tmp_path).broker == tmp_path / "jars" / "broker"


@pytest.mark.parametrize("stamp", [None, "of another ivy.xml"])
def test_any_other_folder_is_fetched_anew(tmp_path: Path, stamp: str | None) -> None:
    (tmp_path / "jars").mkdir()
    if stamp:
        (tmp_path / "jars" / "complete").write_text(stamp)
    with pytest.raises(FileNotFoundError, match="/nowhere/bin/java"):
        ensure_jars(NO_JAVA, tmp_path)


def test_every_jar_that_ivy_xml_names_has_a_checksum() -> None:
    named = {
        f"{each.attrib['conf'].split('->')[0]}/{each.attrib['name']}-{each.attrib['rev']}.jar"
        for each in ET.parse(IVY_FILE).iter("dependency")
    }
    assert len(named) == 6
    assert named <= jars._checksums().keys()


@pytest.mark.parametrize("change", ["altered", "missing", "surplus"])
def test_jars_other_than_those_written_down_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    (tmp_path / "spark").mkdir()
    for name in ("a.jar", "b.jar"):
        (tmp_path / "spark" / name).write_bytes(name.encode())
    digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("a.jar", "b.jar", "c.jar")}
    written = {"altered": ["a.jar", "b.jar"], "missing": ["a.jar", "b.jar", "c.jar"], "surplus": ["a.jar"]}[change]
    monkeypatch.setattr(jars, "_checksums", lambda: {f"spark/{name}": digest[name] for name in written})
    if change == "altered":
        (tmp_path / "spark" / "b.jar").write_bytes(b"other")
    culprit = "c.jar" if change == "missing" else "b.jar"
    with pytest.raises(LocalError, match=rf"^1 jars are not those of .*, spark/{re.escape(culprit)} for one: refused$"):
        jars._verify(tmp_path)


def test_no_network_is_one_sentence_that_names_the_log(tmp_path: Path) -> None:
    launcher = tmp_path / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text("#!/bin/sh\necho ':: UNRESOLVED DEPENDENCIES ::'\nexit 1\n", encoding="utf-8")
    launcher.chmod(0o755)
    with pytest.raises(
        LocalError, match=r"^the jars .* could not be fetched: is the network reachable\? [^\n]*ivy.log$"
    ):
        ensure_jars(Java(tmp_path, 17), tmp_path / "runtime")
    assert "UNRESOLVED" in (tmp_path / "runtime" / "logs" / "ivy.log").read_text()
    assert not (tmp_path / "runtime" / "jars").exists()
