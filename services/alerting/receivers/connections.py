"""HTTP to receivers: bounded waits, no redirects, and no way into the private network for those set over REST."""

import contextlib
import ipaddress
import socket
import time
from collections.abc import Callable, Mapping

import httpx2

NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: The receiver has understood and will not have this message; it will not have it later either.
FINAL = frozenset({400, 410, 413, 415, 422})
LONGEST_RETRY_AFTER_S = 3600.0
CONNECT_TIMEOUT_S = 5.0
LONGEST_ANSWER_BYTES = 16 * 1024


class DeliveryError(Exception):
    """A receiver was not told, in one sentence; `is_final` where to try again is of no use."""

    def __init__(self, reason: str, *, is_final: bool = False, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.is_final, self.retry_after_s = reason, is_final, retry_after_s


class PrivateAddressError(httpx2.ConnectError):
    """A name leads to where receivers that were set over REST may not reach."""


def is_public(address: str) -> bool:
    """Whether an address is one of the whole internet, by itself and by the IPv4 address that it may carry."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        carried = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ip in NAT64:
            carried = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if carried is not None and not is_public(str(carried)):
            return False
    return ip.is_global and not ip.is_multicast


def public_address(host: str, port: int) -> str:
    """Return the address to connect to; a `PrivateAddressError` where any that the name leads to is not public."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]) for each in found]
    if not addresses or not all(map(is_public, addresses)):
        raise PrivateAddressError(
            f"{host} leads to a private address, which only receivers of the file may have (receivers_may_be_private)"
        )
    return addresses[0]


class GuardedTransport(httpx2.BaseTransport):
    """Connects to the very address that was judged, so that a name cannot lead elsewhere in between.

    The request keeps its name in Host, in TLS's server name and in the check of the certificate.
    """

    def __init__(self, *, may_be_private: bool) -> None:
        self._may_be_private = may_be_private
        self._inner = httpx2.HTTPTransport(trust_env=False, limits=httpx2.Limits(max_connections=4))

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request."""
        if not self._may_be_private:
            host = request.url.host
            port = request.url.port or {"https": 443}.get(request.url.scheme, 80)
            try:
                address = public_address(host, port)
            except OSError as error:
                raise httpx2.ConnectError(f"{host} has no address: {error.strerror or error}") from error
            request.extensions = {**request.extensions, "sni_hostname": host}
            request.url = request.url.copy_with(host=address)
        return self._inner.handle_request(request)

    def close(self) -> None:
        """Close every connection."""
        self._inner.close()


class Poster:
    """Posts to one receiver over connections that are kept."""

    def __init__(self, timeout_s: float, *, may_be_private: bool) -> None:
        self._timeout_s = timeout_s
        self._client = httpx2.Client(
            transport=GuardedTransport(may_be_private=may_be_private),
            timeout=httpx2.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
            follow_redirects=False,
            trust_env=False,
            headers={"User-Agent": "Coincide"},
        )

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Post `body`; a `DeliveryError` unless the answer is 2xx. What else the answer says does not matter."""
        try:
            with self._client.stream("POST", url, content=body, headers=dict(headers)) as answer:
                refuse_unless_success(answer)
                _read_out(answer, time.monotonic() + self._timeout_s)
        except httpx2.TimeoutException as error:
            raise DeliveryError(f"no answer in time ({type(error).__name__})") from error
        except httpx2.HTTPError as error:
            raise DeliveryError(f"no connection: {str(error) or type(error).__name__}") from error
        except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
            raise DeliveryError("the URL cannot be used", is_final=True) from error

    def close(self) -> None:
        """Close every connection."""
        self._client.close()


MakePoster = Callable[[float], Poster]
"""Returns what posts, given the longest wait for an answer in seconds."""


def _read_out(answer: httpx2.Response, until_s: float) -> None:
    """Read a short answer to its end, so that the connection can be used again; a long or slow one ends it."""
    with contextlib.suppress(httpx2.HTTPError):  # it was taken, whatever becomes of the rest
        for _ in answer.iter_raw(LONGEST_ANSWER_BYTES):
            if answer.num_bytes_downloaded >= LONGEST_ANSWER_BYTES or time.monotonic() > until_s:
                return


def refuse_unless_success(answer: httpx2.Response) -> None:
    """Raise a `DeliveryError` for an answer other than 2xx."""
    status = answer.status_code
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise DeliveryError(f"answered {status}: redirects are refused")
    wait = answer.headers.get("Retry-After", "")
    retry_after_s = min(float(wait), LONGEST_RETRY_AFTER_S) if wait.isascii() and wait.isdecimal() else 0.0
    raise DeliveryError(f"answered {status}", is_final=status in FINAL, retry_after_s=retry_after_s)
