"""Services: ingest, alerting and the jobs as one key sees them; what is asked is bounded in number, time and length."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx2
import msgspec

from services.common.access.caller import REASON_HEADER
from services.common.access.component_access import trust_context
from services.common.fault_sentences import fault_of
from services.console.metrics import ConsoleMetrics
from services.console.settings import ConsoleSettings

Service = Literal["ingest", "alerting", "fusion", "archive", "history", "forwarding"]
Parameters = Mapping[str, str | int | float | bool | list[str] | None]
T = TypeVar("T")
LONGEST_LINES_BYTES = 256 * 2**20
UNFIT = 422  # of what the console itself knows to be refused


class RestError(Exception):
    """A service did not do what was asked; the message is one sentence for a person. `status` is None if it is away."""

    def __init__(self, detail: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status

    @property
    def is_away(self) -> bool:
        """Whether asking again later may help: nobody answered, or the service says that it cannot now."""
        return self.status is None or self.status in {429, 502, 503, 504}


@dataclass(frozen=True)
class ChangeRequest:
    """A request that changes something; `why` goes to the audit trail."""

    method: str
    service: Service
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    parameters: Parameters = field(default_factory=dict)

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers with the reason, if there is one."""
        why = self.why.strip()
        return {**self.headers, **({REASON_HEADER: why} if why else {})}


class Services:
    """The HTTP clients of all people together; `with_key` is what one of them may see."""

    def __init__(
        self, settings: ConsoleSettings, metrics: ConsoleMetrics, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self.settings, self._metrics = settings, metrics
        jobs: dict[Service, str | None] = {
            "fusion": settings.fusion_url,
            "archive": settings.archive_url,
            "history": settings.history_url,
            "forwarding": settings.forwarding_url,
        }
        self.urls: dict[Service, str] = {"ingest": settings.ingest_url, "alerting": settings.alerting_url}
        self.urls |= {service: url for service, url in jobs.items() if url is not None}
        limits = httpx2.Limits(max_connections=settings.requests_max + settings.sessions_max)
        self.http = httpx2.AsyncClient(
            timeout=settings.answer_timeout_s,
            limits=limits,
            transport=transport,
            trust_env=False,
            verify=trust_context(settings.trusted_certificates),
        )
        self._turns = asyncio.Semaphore(settings.requests_max)

    def with_key(self, key: str | None) -> Rest:
        """Return the services as the holder of `key` sees them; None shows no key."""
        return Rest(self, key)

    async def ask(self, request: httpx2.Request, service: Service, timeout_s: float | None = None) -> bytes:
        """Return the body of the answer; a `RestError` says why there is none. `timeout_s`: less than usual."""
        usual_s = self.settings.answer_timeout_s
        async with self._turns:
            try:
                # `wait_for` of Python 3.11 may answer a task that has been cancelled: a page that is gone went on.
                async with asyncio.timeout(min(usual_s, timeout_s or usual_s)):
                    answer = await self._answer(request, service)
            except RestError as error:
                self._metrics.asked.labels("away" if error.is_away else "refused").inc()
                raise
            except (httpx2.HTTPError, TimeoutError) as error:
                self._metrics.asked.labels("away").inc()
                raise RestError(f"{service} does not answer ({reason_of(error)})") from None
        self._metrics.asked.labels("good").inc()
        return answer

    async def _answer(self, request: httpx2.Request, service: Service) -> bytes:
        if self.http.is_closed:  # a page that is still open looks again and again
            raise RestError("the console is being stopped")
        answer = await self.http.send(request, stream=True)
        try:
            body = bytearray()
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > self.settings.answer_max_bytes:
                    raise RestError(
                        f"the answer of {service} is longer than {self.settings.answer_max_bytes} bytes", 200
                    )
        finally:
            await answer.aclose()
        if answer.is_success:
            return bytes(body)
        raise RestError(problem_sentence(service, answer.status_code, bytes(body)), answer.status_code)

    async def lines(self, request: httpx2.Request, service: Service) -> AsyncIterator[bytes]:
        """Yield the lines of a long answer as they come, at most `LONGEST_LINES_BYTES` of them."""
        taken, rest = 0, b""
        try:
            answer = await self.http.send(request, stream=True)
            try:
                if not answer.is_success:
                    detail = problem_sentence(service, answer.status_code, await answer.aread())
                    raise RestError(detail, answer.status_code)
                async for piece in answer.aiter_bytes():
                    taken += len(piece)
                    *whole, rest = (rest + piece).split(b"\n")
                    for line in whole:
                        yield line
                    if taken > LONGEST_LINES_BYTES:
                        return
            finally:
                await answer.aclose()
        except httpx2.HTTPError as error:
            raise RestError(f"{service} does not answer ({reason_of(error)})") from None

    async def close(self) -> None:
        """Disconnect."""
        await self.http.aclose()


class Rest:
    """The REST API as the holder of one key sees it. Every method raises `RestError` where there is no answer."""

    def __init__(self, services: Services, key: str | None) -> None:
        self.services, self.key = services, key

    @property
    def headers(self) -> dict[str, str]:
        """What shows the key."""
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def request(
        self, method: str, service: Service, path: str, parameters: Parameters | None = None, body: Any = None
    ) -> httpx2.Request:
        """Return a request with the key; `body` is sent as JSON."""
        return self.services.http.build_request(
            method,
            self.services.urls[service] + path,
            params=given(parameters or {}),
            headers=self.headers,
            json=body,
        )

    async def get(self, kind: type[T], service: Service, path: str, parameters: Parameters | None = None) -> T:
        """Return the answer to a GET as `kind`."""
        body = await self.services.ask(self.request("GET", service, path, parameters), service)
        return read_answer(kind, body, service)

    async def text(self, service: Service, path: str) -> str:
        """Return the answer to a GET as it is."""
        return (await self.services.ask(self.request("GET", service, path), service)).decode("utf-8", "replace")

    async def post(self, kind: type[T], service: Service, path: str, body: Any) -> T:
        """Return the answer to a POST that changes nothing as `kind`."""
        answer = await self.services.ask(self.request("POST", service, path, body=body), service)
        return read_answer(kind, answer, service)

    async def make(self, change: ChangeRequest) -> Any:
        """Return the JSON of the answer to a change; None where it has no body."""
        request = self.request(change.method, change.service, change.path, change.parameters, change.body)
        request.headers.encoding = "utf-8"
        for name, value in change.all_headers.items():
            request.headers[name] = value
        answer = await self.services.ask(request, change.service)
        return read_answer(object, answer, change.service) if answer else None

    def command(self, change: ChangeRequest) -> str:
        """Return the command that makes the very same change."""
        said = change.parameters, change.body, change.all_headers
        return self.curl(change.method, change.service, change.path, *said)

    def curl(
        self,
        method: str,
        service: Service,
        path: str,
        parameters: Parameters | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Return the command that asks the same, with a place for the key in place of the key."""
        url = httpx2.URL(self.services.urls[service] + path, params=given(parameters or {}))
        parts = ["curl", *([] if method == "GET" else ["-X", method]), shlex.quote(str(url))]
        if self.key:
            parts.append('-H "Authorization: Bearer $COINCIDE_KEY"')
        parts += [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in (headers or {}).items()]
        if body is not None:
            parts.append("-H 'Content-Type: application/json'")
            parts.append(f"-d {shlex.quote(json.dumps(body, ensure_ascii=False))}")
        return " ".join(parts)


def path_of(*parts: str) -> str:
    """Return the path of a resource; a part may hold any characters."""
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def given(parameters: Parameters) -> dict[str, Any]:
    """Return those that have a value; truth values as the services write them."""
    told = {name: value for name, value in parameters.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in told.items()}


def read_answer(kind: type[T], body: bytes, service: Service) -> T:
    """Return the answer as `kind`; a `RestError` where it is no such thing."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.MsgspecError as error:
        raise RestError(f"{service} answered what the console cannot read: {fault_of(error)}", 200) from None


def problem_sentence(service: Service, status: int, body: bytes) -> str:
    """Return the sentence of a problem document, or a job's own in plain text; for anything else, its status."""
    try:
        document = msgspec.json.decode(body)
        return str(document["detail"])[:1000]
    except (msgspec.MsgspecError, KeyError, TypeError):
        text = body[:1000].decode("utf-8", "replace").strip()
        is_sentence = text.isprintable() and text and text[0] not in "<{["
        return text if is_sentence else f"{service} answered {status}"


def reason_of(error: Exception) -> str:
    """Return in a few words why nobody answered."""
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return "it took too long"
    return "nobody listens there" if isinstance(error, httpx2.ConnectError) else type(error).__name__
