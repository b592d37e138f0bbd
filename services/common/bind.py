"""Where a service listens: loopback, unless somebody takes the decision to open it."""

import ipaddress


def refuse_open_bind(host: str, allow_unauthenticated_bind: bool) -> None:
    """Raise ValueError if ``host`` can be reached from other machines while nobody authenticates.

    ``allow_unauthenticated_bind`` is the operator's word that something else keeps strangers out (a container
    whose port is published on 127.0.0.1 only, say).
    """
    if allow_unauthenticated_bind or _is_loopback(host):
        return
    raise ValueError(
        f"host {host!r} can be reached from other machines and authentication is off: bind 127.0.0.1, "
        "or set allow_unauthenticated_bind if something else keeps strangers out"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
