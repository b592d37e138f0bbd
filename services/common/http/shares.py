"""Shares: places that are few, of which one peer takes at most half, so that nobody keeps all others out."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

RETRY_S = 5


class NoPlaceError(Exception):
    """There is no place; `status` says whether for nobody (503), or for this peer alone (429).

    A route lets it pass: an application answers it as a problem, with when to come again.
    """

    def __init__(self, detail: str, status: HTTPStatus, retry_s: int) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {"Retry-After": str(retry_s)}


class Shares:
    """At most `most` places, from any thread. A peer that is not known, None, has no share of its own to exceed.

    Whoever finds no place may come again after `retry_s`.
    """

    def __init__(self, most: int, what: str, retry_s: int = RETRY_S) -> None:
        self._most, self._most_of_one, self._what, self._retry_s = most, -(-most // 2), what, retry_s
        self._lock = threading.Lock()
        self._taken: Counter[str | None] = Counter()

    def take(self, peer: str | None) -> None:
        """Take a place, which `leave` gives back; raise `NoPlaceError` where there is none."""
        with self._lock:
            if self._taken.total() >= self._most:
                detail = f"there are {self._most} {self._what}, the most allowed"
                raise NoPlaceError(detail, HTTPStatus.SERVICE_UNAVAILABLE, self._retry_s)
            if peer is not None and self._taken[peer] >= self._most_of_one:
                detail = f"{self._most_of_one} of {self._most} {self._what} are yours, the most that one may have"
                raise NoPlaceError(detail, HTTPStatus.TOO_MANY_REQUESTS, self._retry_s)
            self._taken[peer] += 1

    def leave(self, peer: str | None) -> None:
        """Give a place back."""
        with self._lock:
            self._taken[peer] -= 1
            if not self._taken[peer]:
                del self._taken[peer]

    @contextmanager
    def place(self, peer: str | None) -> Iterator[None]:
        """Have a place meanwhile; raise `NoPlaceError` where there is none."""
        self.take(peer)
        try:
            yield
        finally:
            self.leave(peer)

    def __len__(self) -> int:
        """Return how many places are taken."""
        with self._lock:
            return self._taken.total()
