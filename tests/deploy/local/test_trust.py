"""The key store that we write is one that Java reads."""

import ssl
import subprocess
from pathlib import Path

import pytest

from deploy.local.java import find_java
from deploy.local.trust import java_key_store, trust_options


@pytest.mark.jvm
def test_java_reads_every_authority_of_the_store(tmp_path: Path) -> None:
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)[:3]
    store = tmp_path / "a b.jks"
    store.write_bytes(java_key_store(authorities))
    keytool = [str(find_java().executable), "-m", "java.base/sun.security.tools.keytool.Main"]
    command = [*keytool, "-list", "-keystore", str(store), "-storepass", "changeit"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert listed.count("trustedCertEntry") == len(authorities)
    assert "Keystore type: JKS" in listed


def test_java_is_left_to_itself_where_python_knows_of_no_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssl, "create_default_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    assert trust_options(tmp_path) == []
    assert list(tmp_path.iterdir()) == []
