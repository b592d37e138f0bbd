"""Certificates as an authority of one's own gives them out, for as long as is asked."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, in files of their own."""

    certificate: Path
    key: Path

    @property
    def both(self) -> Path:
        """One file with both, as Kafka's broker takes them."""
        path = self.certificate.with_suffix(".both.pem")
        path.write_text(self.key.read_text() + self.certificate.read_text())
        return path

    def locked(self, password: str) -> Path:
        """Return a file that has the key behind a password."""
        path = self.key.with_suffix(".locked.pem")
        _openssl("pkcs8", "-topk8", "-in", str(self.key), "-out", str(path), "-passout", f"pass:{password}")
        return path


class Authority:
    """Signs certificates; its own is `certificate`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.certificate, self._key = folder, folder / f"{name}.pem", folder / f"{name}.key"
        files = ["-out", str(self.certificate), "-keyout", str(self._key)]
        _openssl("req", "-x509", *NEW_KEY, "-days", "2", "-subj", f"/CN={name}", *files)

    def sign(self, name: str, *, days: int = 2, address: str = "IP:127.0.0.1") -> Certificate:
        """Return a new certificate for an address; it has expired where `days` are negative."""
        made = Certificate(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={address}\nbasicConstraints=critical,CA:FALSE\n")
        _openssl("req", "-new", *NEW_KEY, "-subj", f"/CN={name}", "-out", str(request), "-keyout", str(made.key))
        signer = ["-CA", str(self.certificate), "-CAkey", str(self._key), "-CAcreateserial"]
        how = ["-days", str(days), "-extfile", str(extensions), "-out", str(made.certificate)]
        _openssl("x509", "-req", "-in", str(request), *signer, *how)
        return made


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
