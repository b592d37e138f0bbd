import socket
from typing import Any

import httpx2
import pytest

from services.alerting.receivers import connections
from services.alerting.receivers.connections import DeliveryError, GuardedTransport, Poster, is_public
from tests.integration.webhook_sink import running_sink

PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "0.0.0.0",
    "100.64.0.1",
    "224.0.0.1",
]
PRIVATE += ["::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
PRIVATE += ["2002:7f00:1::1", "255.255.255.255"]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_known_in_every_dress(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"])
def test_public_ones_too(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1"])
def test_a_receiver_set_over_rest_reaches_nothing_private(host: str) -> None:
    with running_sink() as sink:
        port = sink.server_address[1]
        poster = Poster(2, may_be_private=False)
        with pytest.raises(DeliveryError) as refused:
            poster.post(f"http://{host}:{port}/", b"{}", {})
        poster.close()
        assert "private address" in refused.value.reason or "has no address" in refused.value.reason
        assert sink.tried == []


def test_the_address_that_was_judged_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that first leads to a public address, and then home, is resolved once; it keeps Host and TLS's name."""
    asked: list[str] = []

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "93.184.216.34" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    class Inner(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            self.request = request
            return httpx2.Response(204)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    transport, inner = GuardedTransport(may_be_private=False), Inner()
    transport._inner = inner  # type: ignore[assignment]
    with httpx2.Client(transport=transport) as client:
        assert client.post("https://hooks.example.org/x", content=b"{}").status_code == 204
    assert asked == ["hooks.example.org"]
    assert inner.request.url.host == "93.184.216.34"
    assert inner.request.headers["Host"] == "hooks.example.org"
    assert inner.request.extensions["sni_hostname"] == "hooks.example.org"


def test_a_name_that_also_leads_home_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_named: both)
    with pytest.raises(connections.PrivateAddressError):
        connections.public_address("mixed.example.org", 80)


def test_a_connection_is_used_again() -> None:
    with running_sink() as sink:
        poster = Poster(2, may_be_private=True)
        for _ in range(3):
            poster.post(sink.url, b"{}", {"webhook-id": "x"})
        poster.close()
        assert (sink.connections, len(sink.tried)) == (1, 3)
