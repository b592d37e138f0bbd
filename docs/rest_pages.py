"""The reference of REST: what all requests have in common, and the routes of each service, from its OpenAPI."""

from collections.abc import Iterator
from typing import Any

from services.ingest.verdicts import Reason

NOTICE = "<!-- Written by `make docs` from the code; change it there. -->"


def rest_pages(ingest: dict[str, Any], alerting: dict[str, Any]) -> dict[str, str]:
    """Return the page on what all requests have in common, and one for each service, from their OpenAPI."""
    return {
        "docs/reference/rest.md": _page("# REST", *_in_common()),
        "docs/reference/rest/ingest.md": _page("# REST of ingest", *_of_service(ingest, 8010)),
        "docs/reference/rest/alerting.md": _page("# REST of alerting", *_of_service(alerting, 8020)),
    }


def _page(title: str, *paragraphs: str) -> str:
    return "\n\n".join([title, NOTICE, *paragraphs]) + "\n"


def _of_service(description: dict[str, Any], port: int) -> Iterator[str]:
    yield f"Port {port}. [REST](../rest.md) says what holds for every request."
    yield _routes_table(description)
    yield from _parameter_sections(description)


def _in_common() -> list[str]:
    return [
        "[Ingest](rest/ingest.md) takes detections, [alerting](rest/alerting.md) takes queries and serves results. "
        "Both describe themselves as OpenAPI at "
        "`/openapi.json` ([ingest](../contracts/ingest.openapi.json), [alerting](../contracts/alerting.openapi.json)). "
        "`/docs` shows it as a page on which you can try each request.",
        "Every error is a problem document (RFC 9457, `application/problem+json`). Its `detail` is one sentence: "
        "which field is wrong, what it was and what is allowed. Where a body is wrong, `field`, `value` and `allowed` "
        "say it apart, as far as they apply. A member of a body, or a parameter that is no list, may stand there once. "
        "Times in `from` and `to` are RFC 3339 or whole microseconds since 1970. A list answers with `items`, and with "
        "`next_cursor` while there is more.",
        "A change of a query, stream, template, sensor, receiver or silence needs `If-Match` with the ETag that `GET` "
        "gave, or `*`. "
        "Without it the answer is 428. It is 412 if somebody else changed it in between.",
        "## Why a detection is refused",
        _reasons_table(),
        "The fusion job writes dead letters as well. `late` came too late to be compared. "
        "`no_number` has a value that is no number, where a query needs one; the detection itself is accepted. "
        "`no_place` is of a sensor whose place is not known, where a query needs it; the detection is accepted, too. "
        "`expired_unread` is no detection: it counts what Kafka deleted before fusion had read it. "
        "Others say what somebody other than ingest wrote to the topics.",
    ]


def _routes(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            yield f"{method.upper()} {path}", route


def _routes_table(description: dict[str, Any]) -> str:
    rows = "".join(
        f"\n| `{name}` | {route['summary'].rstrip('.')} | {', '.join(sorted(route['responses']))} |"
        for name, route in _routes(description)
    )
    return f"| route | what it does | status |\n|---|---|---|{rows}"


def _parameter_sections(description: dict[str, Any]) -> Iterator[str]:
    for name, route in _routes(description):
        filters = [each for each in route.get("parameters", []) if each["in"] == "query"]
        if filters:
            rows = "".join(f"\n| `{each['name']}` | {each.get('description', '')} |" for each in filters)
            yield f"## Parameters of `{name}`\n\n| parameter | meaning |\n|---|---|{rows}"


def _reasons_table() -> str:
    rows = "".join(f"\n| `{reason}` | {reason.meaning} | {'yes' if reason.retryable else 'no'} |" for reason in Reason)
    return f"| reason | meaning | can the same item be accepted later? |\n|---|---|---|{rows}"
