"""Problem details (RFC 9457): every HTTP error of every service has this one shape."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from services.common.fault_sentences import faults_in
from services.common.http.app_routes import routes_of
from services.common.http.problem_document import MEDIA_TYPE, problem_document
from services.common.http.shares import NoPlaceError
from services.common.http.strict_json import JSON_ALLOWED, BodyError, parse_json


class Problem(Exception):  # noqa: N818 - RFC 9457 calls it a problem
    """An error to answer: one sentence for the caller (field, value, what is allowed), headers and further members."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None, **extensions: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers
        self.extensions = extensions

    def response(self) -> JSONResponse:
        """Return the problem as an HTTP response."""
        return problem_response(self.status, self.detail, self.headers, **self.extensions)


def try_again(detail: str) -> Problem:
    """Return the problem, 503, of what may go well in a moment."""
    return Problem(503, detail, {"Retry-After": "1"})


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **extensions: Any
) -> JSONResponse:
    """Return a problem document with ``status`` and ``detail``."""
    return JSONResponse(problem_document(status, detail, **extensions), status, headers, MEDIA_TYPE)


def unexpected_problem() -> JSONResponse:
    """Return what the caller hears of a failure of ours, which is nothing about our insides."""
    return problem_response(HTTPStatus.INTERNAL_SERVER_ERROR, "The server failed; the failure has been logged.")


def install_problem_handlers(app: FastAPI) -> None:
    """Make ``app`` answer every error, its own and the framework's, as a problem document."""
    app.add_exception_handler(Problem, _on_problem)
    app.add_exception_handler(NoPlaceError, _on_no_place)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(Exception, _on_unexpected)


async def _on_problem(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Problem)  # noqa: S101 - registered for this class alone
    return error.response()


async def _on_no_place(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, NoPlaceError)  # noqa: S101
    return problem_response(error.status, str(error), error.headers)


async def _on_http_exception(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101
    if error.status_code == HTTPStatus.BAD_REQUEST and isinstance(error.__cause__, ValueError | RecursionError):
        return _not_json(await request.body())  # FastAPI's reader takes them for faults of its own
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # What the router says are those of the first route of this path only, and of no included router's.
        return problem_response(error.status_code, str(error.detail), {"Allow": ", ".join(_methods(request))})
    return problem_response(error.status_code, str(error.detail), error.headers)


def _methods(request: Request) -> list[str]:
    """Return every method of this path, whichever router it comes from."""
    app = request.app
    if not hasattr(app.state, "routes"):
        app.state.routes = routes_of(app)
    methods: list[str] = app.state.routes.methods(request.scope["path"])
    return methods


async def _on_invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    errors = error.errors()
    if errors[0]["type"] == "json_invalid":
        return _not_json(await request.body())
    faults = faults_in([_as_the_caller_has_it(each) for each in errors], fields=_fields(request))
    sentences = "; ".join(each.sentence for each in faults)
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, sentences, **faults[0].members)


def _not_json(body: bytes) -> JSONResponse:
    """Return what is wrong with a body that FastAPI has refused as JSON, as all other routes say it."""
    try:
        parse_json(body)
    except BodyError as fault:
        return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, str(fault), **fault.members)
    return problem_response(HTTPStatus.UNPROCESSABLE_ENTITY, "the body is not JSON", allowed=JSON_ALLOWED)


def _as_the_caller_has_it(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what pydantic says with the place in the body alone."""
    where, *place = item["loc"]
    return {**item, "loc": place if where == "body" else item["loc"]}


def _fields(request: Request) -> list[str]:
    """Return the names of the fields that the body of a route may have, where FastAPI reads it."""
    body = getattr(request.scope.get("route"), "body_field", None)
    model = getattr(getattr(body, "field_info", None), "annotation", None)
    return [each.alias or name for name, each in getattr(model, "model_fields", {}).items()]


async def _on_unexpected(_request: Request, _error: Exception) -> JSONResponse:
    return unexpected_problem()  # the server logs the traceback
