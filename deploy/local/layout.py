"""Where one running system keeps its files, which ports it has, and the environment that tells its processes."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from ssl import SSLContext
from typing import Self

from deploy.host.machine import ROOT, RUNTIME, LocalError, free_ports
from deploy.jvm.class_archives import class_archives
from services.alerting.settings import AlertingSettings
from services.common.access.component_access import trust_context
from services.common.engine.fusion_settings import FusionSettings
from services.common.kafka.connection import KafkaConnection
from services.common.settings import S, SettingsError, load_settings, located
from services.common.topics.topic_names import DEFAULT_NAMES, TopicNames
from services.console.settings import ConsoleSettings
from services.ingest.settings import IngestSettings
from spark_jobs.settings import ArchiveSettings, HistorySettings

#: The folder of the files that the processes of a system are started with.
HERE = Path(__file__).resolve().parent

#: The kernel's limit is 108 bytes with the final NUL, and supervisor first binds to the name with a pid appended.
_LONGEST_SOCKET_PATH = 95
#: What listens beside Kafka, in the order of `Ports`.
COMPONENTS = ("ingest", "alerting", "fusion", "archive", "history", "console")
#: A process with a Java that has not ended so long after it was asked to is killed.
JAVA_STOP_S = 30


@dataclass(frozen=True)
class Ports:
    """The ports of 127.0.0.1 that a system listens on."""

    kafka: int
    controller: int
    ingest: int
    alerting: int
    fusion: int
    archive: int
    history: int
    console: int


@dataclass(frozen=True)
class Layout:
    """One system: two layouts that share neither ports nor ``runtime`` can run side by side."""

    runtime: Path  # folder of everything that running leaves behind
    ports: Ports
    overrides: Mapping[str, str] = field(default_factory=dict)  # environment variables of its processes alone
    archives: bool = False  # whether the archive job runs, and runs over history can be asked for
    needs_key: bool = False  # whether some component answers nobody without a key
    secure: frozenset[str] = frozenset()  # the components that speak HTTPS
    trusted: Path | None = None  # the certificates by which their callers know them; None: what this machine trusts
    topic_names: TopicNames = DEFAULT_NAMES  # the names of the topics of its components
    java_stop_s: int = JAVA_STOP_S

    @classmethod
    def of_checkout(cls, environ: Mapping[str, str] = os.environ, overrides: Mapping[str, str] | None = None) -> Self:
        """Return the layout of ``make up``: the ports are those that the components' settings name."""
        environ, own = {**(overrides or {}), **environ}, dict(overrides or {})
        try:
            ingest = settings_of(IngestSettings, environ)
            alerting = settings_of(AlertingSettings, environ)
            fusion = settings_of(FusionSettings, environ)
            archive = settings_of(ArchiveSettings, environ)
            history = settings_of(HistorySettings, environ)
            console = settings_of(ConsoleSettings, environ)
        except SettingsError as error:
            raise LocalError(str(error)) from error
        archives = archive.path is not None
        used = [ingest, alerting, fusion, *([archive, history] if archives else [])]
        kafka = _one_local_port({each.kafka for each in used})
        names = TopicNames(_same_for_all("topic_prefix", {each.topic_prefix for each in used}))
        services = (ingest, alerting, fusion, archive, history, console)
        ports = Ports(kafka, kafka + 1, *(each.port for each in services))
        shown = {name: each.tls_certificate for name, each in zip(COMPONENTS, services, strict=True)}
        certificates = {name: ROOT / each for name, each in shown.items() if each is not None}
        named = console.trusted_certificates
        trusted = _only_one(set(certificates.values())) if named is None else ROOT / named
        secure = frozenset(certificates)
        own = {name: value for name, value in own.items() if environ[name] == value}
        if archives and history.archive_path is None:
            own["COINCIDE_HISTORY_ARCHIVE_PATH"] = json.dumps(str(archive.path))
        if archives and alerting.history_url is None:
            own["COINCIDE_ALERTING_HISTORY_URL"] = _url(ports, "history", secure)
        if certificates:
            callers = {"CONSOLE": console.trusted_certificates, "ALERTING": alerting.trusted_certificates}
            own |= _told_whom_to_trust([name for name, known in callers.items() if known is None], trusted)
        said = [console.ingest_url, console.alerting_url, console.fusion_url, alerting.console_url]
        said += [console.archive_url, console.history_url] if archives else []
        told = zip(_told_where(ports, secure, archives=archives).items(), said, strict=True)
        own |= {name: url for (name, url), known in told if url != known and name not in environ}
        return cls(RUNTIME, ports, own, archives, any(each.needs_key for each in used), secure, trusted, names)

    @classmethod
    def isolated(
        cls, runtime: Path, overrides: Mapping[str, str] | None = None, tls: tuple[Path, Path] | None = None
    ) -> Self:
        """Return a layout on free ports whose files all lie below ``runtime``; ``overrides`` come last.

        With ``tls``, a certificate and its key, every component speaks HTTPS with it, and its callers trust it alone.
        """
        ports, secure = Ports(*free_ports(8)), frozenset(COMPONENTS if tls else ())
        paths = {
            "COINCIDE_FUSION_CHECKPOINT_PATH": str(runtime / "checkpoint"),
            "COINCIDE_ALERTING_DATABASE_URL": f"sqlite:///{runtime / 'alerting.sqlite3'}",
        }
        # Settings read an override as YAML; JSON's quoting keeps any path one string.
        own = {name: json.dumps(value) for name, value in paths.items()}
        for component in ("INGEST", "ALERTING", "FUSION", "ARCHIVE", "HISTORY"):
            own[f"COINCIDE_{component}_TOPIC_PREFIX"] = json.dumps(DEFAULT_NAMES.prefix)
            own[f"COINCIDE_{component}_PORT"] = str(getattr(ports, component.lower()))
        own["COINCIDE_KAFKA_SERVERS"] = f"127.0.0.1:{ports.kafka}"
        own["COINCIDE_HISTORY_RUNS_PATH"] = json.dumps(str(runtime / "runs"))
        own["COINCIDE_CONSOLE_PORT"] = str(ports.console)
        archives = "COINCIDE_ARCHIVE_PATH" in (overrides or {})
        if tls:
            files = dict(zip(("TLS_CERTIFICATE", "TLS_KEY"), tls, strict=True))
            named = {f"COINCIDE_{each.upper()}_{name}": file for each in COMPONENTS for name, file in files.items()}
            own |= {name: json.dumps(str(file)) for name, file in named.items()}
            own |= _told_whom_to_trust(["CONSOLE", "ALERTING"], tls[0])
        own = {**_told_where(ports, secure, archives=archives), **own, **(overrides or {})}
        if archives:
            own["COINCIDE_HISTORY_ARCHIVE_PATH"] = own["COINCIDE_ARCHIVE_PATH"]
            own["COINCIDE_ALERTING_HISTORY_URL"] = _url(ports, "history", secure)
        return cls(runtime, ports, own, archives, secure=secure, trusted=tls and tls[0])

    @property
    def bootstrap(self) -> str:
        """What a Kafka client connects to."""
        return f"127.0.0.1:{self.ports.kafka}"

    @property
    def kafka(self) -> KafkaConnection:
        """How a Kafka client connects."""
        return KafkaConnection(servers=self.bootstrap)

    @property
    def logs(self) -> Path:
        """Folder with a log for each process."""
        return self.runtime / "logs"

    @property
    def socket(self) -> Path:
        """Where the process runner takes commands: in ``runtime`` where the name is short enough for a socket."""
        near = self.runtime / "supervisor.sock"
        if len(os.fsencode(near)) <= _LONGEST_SOCKET_PATH:
            return near
        digest = hashlib.sha256(os.fsencode(near)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"coincide-{os.getuid()}-{digest}.sock"

    def url(self, component: str) -> str:
        """Return the base URL of ``ingest``, ``alerting``, ``fusion``, ``archive``, ``history`` or ``console``."""
        return _url(self.ports, component, self.secure)

    def trust(self) -> SSLContext:
        """Return what a caller of the components knows them by; a `LocalError` where the file is no use."""
        try:
            return trust_context(self.trusted)
        except SettingsError as error:
            raise LocalError(str(error)) from error

    def environ(self, java_home: Path) -> dict[str, str]:
        """Return the environment of every process of this system; supervisord.conf reads ``COINCIDE_LOCAL_*``."""
        return {
            **_class_archive(java_home),
            **os.environ,
            **self.overrides,
            "JAVA_HOME": str(java_home),
            "PYTHONUNBUFFERED": "1",
            "COINCIDE_LOCAL_RUNTIME": str(self.runtime),
            "COINCIDE_LOCAL_ROOT": str(ROOT),
            "COINCIDE_LOCAL_PYTHON": sys.executable,
            "COINCIDE_LOCAL_SOCKET": str(self.socket),
            "COINCIDE_LOCAL_KAFKA_PORT": str(self.ports.kafka),
            "COINCIDE_LOCAL_CONTROLLER_PORT": str(self.ports.controller),
            "COINCIDE_LOCAL_INGEST": self.url("ingest"),
            "COINCIDE_LOCAL_TRUSTED": str(self.trusted or ""),
            "COINCIDE_LOCAL_JAVA_STOP_S": str(self.java_stop_s),
        }


def settings_of(model: type[S], environ: Mapping[str, str]) -> S:
    """Return a component's settings, as it will find them itself in the checkout."""
    file = Path("config", f"{model.PREFIX.split('_')[1].lower()}.yaml")
    own = located(file, environ)
    return load_settings(model, ROOT / file if own == file else own, environ)


def _class_archive(java_home: Path) -> dict[str, str]:
    archive = class_archives(java_home).spark
    named = (f"COINCIDE_{component}_CLASS_ARCHIVE_PATH" for component in ("FUSION", "ARCHIVE"))
    return dict.fromkeys(named, json.dumps(str(archive))) if archive.is_file() else {}


def _url(ports: Ports, component: str, secure: Collection[str]) -> str:
    return f"{'https' if component in secure else 'http'}://127.0.0.1:{asdict(ports)[component]}"


def _told_where(ports: Ports, secure: Collection[str], *, archives: bool) -> dict[str, str]:
    """Return what tells the console where the other processes are, and alerting where the console is."""
    called = ["ingest", "alerting", "fusion"]
    told = {f"COINCIDE_CONSOLE_{name.upper()}_URL": _url(ports, name, secure) for name in called}
    told["COINCIDE_ALERTING_CONSOLE_URL"] = _url(ports, "console", secure)
    of_archive = ["archive", "history"] if archives else []
    return told | {f"COINCIDE_CONSOLE_{name.upper()}_URL": _url(ports, name, secure) for name in of_archive}


def _told_whom_to_trust(callers: Collection[str], trusted: Path | None) -> dict[str, str]:
    return {f"COINCIDE_{each}_TRUSTED_CERTIFICATES": json.dumps(str(trusted)) for each in callers if trusted}


def _only_one(certificates: set[Path]) -> Path | None:
    if len(certificates) > 1:
        raise LocalError(
            "the components have different certificates: give the console trusted_certificates, a file of those that "
            f"have signed {' and '.join(sorted(map(str, certificates)))}"
        )
    return next(iter(certificates), None)


def _same_for_all(setting: str, values: set[str]) -> str:
    if len(values) > 1:
        raise LocalError(f"{setting} must be the same for all components, not {sorted(values)}")
    [value] = values
    return value


def _one_local_port(connections: set[KafkaConnection]) -> int:
    servers = _same_for_all("the servers of kafka", {each.servers for each in connections})
    host, _, port = servers.rpartition(":")
    if host not in {"127.0.0.1", "localhost"} or not port.isdigit():
        raise LocalError(f"make up runs its own Kafka on 127.0.0.1, and servers of kafka is {servers!r}")
    if any(each.protocol != "PLAINTEXT" for each in connections):
        raise LocalError("make up runs its own Kafka, which knows no TLS and no users: protocol must be PLAINTEXT")
    return int(port)
