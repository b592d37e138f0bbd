"""ComponentAccess: what one component has of all this: guard, keys that it follows, audit trail; and its TLS."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge

from services.common.access.access_keys import KEYS, KeyRing
from services.common.access.audit import AuditTrail
from services.common.access.guard import Guard, first_key
from services.common.access.keys_topic import KeysView
from services.common.access.origins import Origins
from services.common.settings import ComponentSettings, ListeningSettings, SettingsError
from services.common.topics.compacted_topic import TopicFollower
from services.common.topics.log_clients import LogClients
from services.common.topics.record_publisher import RecordPublisher

AUDIT_TIMEOUT_S = 5.0

log = logging.getLogger(__name__)


class ComponentAccess:
    """Who may do what on one component, by its settings; `start` follows the keys until `stop`."""

    def __init__(
        self,
        component: str,
        settings: ComponentSettings,
        registry: CollectorRegistry,
        *,
        publisher: RecordPublisher | None = None,
        clients: LogClients | None = None,
    ) -> None:
        refused, unaudited = access_metrics(component, registry)
        self.ring, self.registry = KeyRing(), registry
        self.needs_key = settings.needs_key
        names = settings.topic_names
        self.clients, self._is_owner = clients or LogClients.of(settings), clients is None
        self._how_first = first_key(names, self.clients.log.option)
        self.publisher = publisher or self.clients.records(AUDIT_TIMEOUT_S)
        self.audit = AuditTrail(component, self.publisher, unaudited.inc)
        self.guard = Guard(
            Origins(settings.host, settings.allowed_hosts, settings.allowed_origins),
            self.ring,
            needs_key=settings.needs_key,
            how_first=self._how_first,
            on_refused=lambda reason: refused.labels(reason).inc(),
        )
        self._follower = TopicFollower(names.full(KEYS), KeysView(self.ring, self._warn), self.clients.reader)

    def _warn(self) -> None:
        if self.needs_key:
            log.warning("every request needs a key, and there is none: make the first with %s", self._how_first)

    def start(self) -> None:
        """Begin to follow the keys."""
        self._follower.start()

    def stop(self) -> None:
        """Follow no longer, and disconnect; blocks for a few seconds at most."""
        self._follower.stop()
        if self._is_owner:
            self.clients.log.close()


def access_metrics(component: str, registry: CollectorRegistry) -> tuple[Counter, Counter]:
    """Return what is counted of one component: requests that were refused, by reason, and changes not audited."""
    refused = Counter(
        f"coincide_{component}_requests_refused",
        "Requests refused before anybody looked at them, by reason: path, host, origin, content_type, no_key, bad_key, "
        "scope, rate, open_requests, keys_unread.",
        ["reason"],
        registry=registry,
    )
    unaudited = Counter(
        f"coincide_{component}_changes_unaudited",
        "Changes that are not on the audit topic; what the component logs has them whole.",
        registry=registry,
    )
    return refused, unaudited


def export_readiness(registry: CollectorRegistry, is_ready: Callable[[], bool]) -> None:
    """Show in ``registry`` what /readyz says; it is asked whenever metrics are read, so it must not block."""
    Gauge(
        "coincide_ready", "1 while /readyz says that the component can do its work, else 0.", registry=registry
    ).set_function(is_ready)


def tls_context(settings: ListeningSettings) -> ssl.SSLContext | None:
    """Return what a server speaks TLS with; None where it speaks none. Raises `SettingsError`: the files are no use."""
    if settings.tls_certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # An empty password: a key that needs one is refused, and nobody is asked for it on a terminal.
        context.load_cert_chain(settings.tls_certificate, settings.tls_key, password="")
    except (OSError, ValueError) as error:  # SSLError is an OSError
        names = f"{settings.tls_certificate} and {settings.tls_key}"
        raise SettingsError(f"tls_certificate, tls_key: {names} cannot be used together: {error}") from error
    return context


def trust_context(certificates: Path | None) -> ssl.SSLContext:
    """Return what a client knows servers by: `certificates` alone, or None: what this machine trusts.

    Raises `SettingsError`: the file is no use.
    """
    try:
        context = ssl.create_default_context(cafile=certificates)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        raise SettingsError(f"trusted_certificates: {certificates} cannot be used: {error}") from error
    if certificates is not None:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # a server's own certificate is enough
    return context
