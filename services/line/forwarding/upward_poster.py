"""UpwardPoster: posts detections to the line above, and says what became of them."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import httpx2
import msgspec
from msgspec import Struct

from services.common.access.component_access import trust_context
from services.line.forwarding.forward_settings import ForwardSettings

PATH = "/v1/detections"
CONNECT_TIMEOUT_S = 5.0
LONGEST_RETRY_AFTER_S = 3600.0
LONGEST_ANSWER_BYTES = 8 * 2**20
#: The line above has read the detections and takes none of them; it will not take them later either.
FINAL = frozenset({400, 413, 415, 422})
TOO_LONG = 413


class UpwardError(Exception):
    """Nothing is known to have been taken, in one sentence; the same is to be posted again, not before so long."""

    def __init__(self, reason: str, retry_after_s: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class Refusal(NamedTuple):
    """One detection that the line above does not take."""

    reason: str
    detail: str


class _Verdict(Struct):
    status: str
    reason: str = "unknown"
    detail: str = ""


class _Verdicts(Struct):
    detections: list[_Verdict] = []


class UpwardPoster:
    """Posts over a connection that is kept."""

    def __init__(self, settings: ForwardSettings, key: str | None) -> None:
        self._url, self._timeout_s = settings.to + PATH, settings.timeout_s
        self._client = httpx2.Client(
            timeout=httpx2.Timeout(settings.timeout_s, connect=min(settings.timeout_s, CONNECT_TIMEOUT_S)),
            verify=trust_context(settings.trusted_certificates),
            follow_redirects=False,
            trust_env=False,
            headers={
                "User-Agent": "Coincide",
                "Content-Type": "application/x-ndjson",
                **({} if key is None else {"Authorization": f"Bearer {key}"}),
            },
        )

    def post(self, items: Sequence[bytes]) -> list[Refusal]:
        """Post detections, and return those that are refused for good; all others are safe there.

        Raises `UpwardError`.
        """
        status, headers, body = self._answer(b"\n".join(items))
        if status == TOO_LONG and len(items) > 1:
            half = len(items) // 2
            return self.post(items[:half]) + self.post(items[half:])
        if status == httpx2.codes.ACCEPTED or status in FINAL:
            return self._refusals(status, body, len(items))
        raise UpwardError(_sentence(status), _retry_after_s(headers))

    def _answer(self, content: bytes) -> tuple[int, httpx2.Headers, bytes]:
        try:
            with self._client.stream("POST", self._url, content=content) as answer:
                return answer.status_code, answer.headers, _bounded(answer, time.monotonic() + self._timeout_s)
        except httpx2.TimeoutException as error:
            raise UpwardError(f"the line above did not answer in time ({type(error).__name__})") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise UpwardError(f"there is no connection to the line above: {error or type(error).__name__}") from error

    def _refusals(self, status: int, body: bytes, count: int) -> list[Refusal]:
        """Return what the answer refuses; one that says nothing of each refuses all of them if it is no 202."""
        try:
            verdicts = msgspec.json.decode(body, type=_Verdicts).detections
        except msgspec.MsgspecError:
            verdicts = []
        if status != httpx2.codes.ACCEPTED and not verdicts:
            return [Refusal(f"http_{status}", _sentence(status))] * count
        return [Refusal(each.reason, each.detail) for each in verdicts if each.status == "refused"]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _bounded(answer: httpx2.Response, until_s: float) -> bytes:
    return b"".join(_pieces(answer, until_s))


def _pieces(answer: httpx2.Response, until_s: float) -> Iterator[bytes]:
    size = 0
    for piece in answer.iter_bytes():
        size += len(piece)
        if size > LONGEST_ANSWER_BYTES or time.monotonic() > until_s:
            raise UpwardError("the answer of the line above is too long, or too slow")
        yield piece


def _sentence(status: int) -> str:
    if status in {401, 403}:
        return f"the line above answers {status}: it does not take this key"
    return f"the line above answers {status}"


def _retry_after_s(headers: httpx2.Headers) -> float:
    wait = headers.get("Retry-After", "")
    return min(float(wait), LONGEST_RETRY_AFTER_S) if wait.isascii() and wait.isdecimal() else 0.0
