"""Jars are fetched once, and only those whose checksums are written down are used."""

import hashlib
import re
import ssl
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest

from deploy.host.machine import ROOT, LocalError
from deploy.jvm import jars
from deploy.jvm.jars import CHECKSUMS, IVY_FILE, ensure_jars
from deploy.jvm.java import Java, find_java
from tests.deploy.jvm.test_java import launcher

PEERS = ROOT / "benchmarks" / "peers_line"
#: Running it fails, so a test that passes has started no Java.
NO_JAVA = Java(Path("/nowhere"), 17)


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a runtime folder into which two jars were fetched whole."""
    written = tmp_path / "jars.sha256"
    monkeypatch.setattr(jars, "CHECKSUMS", written)
    for name in ("broker/a.jar", "spark/b.jar"):
        (tmp_path / "jars" / name).parent.mkdir(parents=True)
        (tmp_path / "jars" / name).write_bytes(name.encode())
        with written.open("a") as lines:
            lines.write(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n")
    wanted = hashlib.sha256(IVY_FILE.read_bytes() + written.read_bytes()).hexdigest()
    (tmp_path / "jars" / "complete").write_text(wanted)
    return tmp_path


def test_a_complete_folder_is_left_alone(complete: Path) -> None:
    assert ensure_jars(NO_JAVA, complete).broker == complete / "jars" / "broker"


@pytest.mark.parametrize("change", ["altered", "gone", "added"])
def test_what_happened_to_a_complete_folder_is_seen_at_the_next_start(complete: Path, change: str) -> None:
    jar = complete / "jars" / "broker" / "a.jar"
    if change == "altered":
        jar.write_bytes(b"broker/A.jar")  # as long as before
    elif change == "gone":
        jar.unlink()
    else:
        jar.with_name("c.jar").write_bytes(b"")
    culprit = "c.jar" if change == "added" else "a.jar"
    with pytest.raises(
        LocalError, match=rf"^1 jars in .* broker/{culprit} for one: refused\. Delete the folder, .*setup"
    ):
        ensure_jars(NO_JAVA, complete)


@pytest.mark.parametrize("stamp", [None, "of another ivy.xml"])
def test_any_other_folder_is_fetched_anew(tmp_path: Path, stamp: str | None) -> None:
    (tmp_path / "jars").mkdir()
    if stamp:
        (tmp_path / "jars" / "complete").write_text(stamp)
    with pytest.raises(FileNotFoundError, match="/nowhere/bin/java"):
        ensure_jars(NO_JAVA, tmp_path)


@pytest.mark.parametrize(
    ("ivy_file", "written", "count"), [(IVY_FILE, CHECKSUMS, 7), (PEERS / "ivy.xml", PEERS / "jars.sha256", 1)]
)
def test_every_jar_that_ivy_xml_names_has_a_checksum(ivy_file: Path, written: Path, count: int) -> None:
    named = {
        f"{each.attrib['conf'].split('->')[0]}/{each.attrib['name']}-{each.attrib['rev']}.jar"
        for each in ET.parse(ivy_file).iter("dependency")
    }
    assert len(named) == count
    assert named <= jars.read_checksums(written).keys()


@pytest.mark.parametrize("change", ["altered", "missing", "surplus"])
def test_jars_other_than_those_written_down_are_refused(tmp_path: Path, change: str) -> None:
    (tmp_path / "spark").mkdir()
    for name in ("a.jar", "b.jar"):
        (tmp_path / "spark" / name).write_bytes(name.encode())
    digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("a.jar", "b.jar", "c.jar")}
    written = {"altered": ["a.jar", "b.jar"], "missing": ["a.jar", "b.jar", "c.jar"], "surplus": ["a.jar"]}[change]
    checksums = tmp_path / "jars.sha256"
    checksums.write_text("".join(f"{digest[name]}  spark/{name}\n" for name in written))
    if change == "altered":
        (tmp_path / "spark" / "b.jar").write_bytes(b"other")
    culprit = "c.jar" if change == "missing" else "b.jar"
    with pytest.raises(LocalError, match=rf"^1 jars in .*, spark/{re.escape(culprit)} for one: refused"):
        jars.verify(tmp_path, checksums)


def test_no_network_is_one_sentence_that_names_the_log(tmp_path: Path) -> None:
    launcher(tmp_path, "echo ':: UNRESOLVED DEPENDENCIES ::'\nexit 1")
    with pytest.raises(
        LocalError, match=r"^the jars .* could not be fetched: is the network reachable\? [^\n]*ivy.log$"
    ):
        ensure_jars(Java(tmp_path, 17), tmp_path / "runtime")
    assert "UNRESOLVED" in (tmp_path / "runtime" / "logs" / "ivy.log").read_text()
    assert not (tmp_path / "runtime" / "jars").exists()


@pytest.mark.jvm
def test_the_packaged_java_is_given_the_authorities_that_only_this_machine_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)[:3]
    context = SimpleNamespace(get_ca_certs=lambda binary_form: authorities)
    monkeypatch.setattr(ssl, "create_default_context", lambda: context)
    java, packaged = find_java(), tmp_path / "a b"
    for folder in ("bin", "lib/security"):
        (packaged / folder).mkdir(parents=True)
    keytool = (java.packaged or java.home) / "bin" / "keytool"
    (packaged / "bin" / "keytool").symlink_to(keytool)
    cacerts = packaged / "lib" / "security" / "cacerts"
    with_store = [str(keytool), "-storepass", "changeit", "-noprompt", "-keystore"]
    known = [*with_store, str(cacerts), "-importcert", "-alias", "known"]
    subprocess.run(known, input=ssl.DER_cert_to_PEM_cert(authorities[0]), text=True, check=True)
    [option] = jars._trust_options(packaged, tmp_path)
    store = option.removeprefix("-Djavax.net.ssl.trustStore=")
    listed = subprocess.run([*with_store, store, "-list"], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^(\S+), .*, trustedCertEntry", listed, re.MULTILINE) == ["known", "machine-0", "machine-1"]
    monkeypatch.setattr(context, "get_ca_certs", lambda binary_form: [])  # Python knows of none: Java keeps its own
    [option] = jars._trust_options(packaged, tmp_path)
    assert Path(option.removeprefix("-Djavax.net.ssl.trustStore=")).read_bytes() == cacerts.read_bytes()
