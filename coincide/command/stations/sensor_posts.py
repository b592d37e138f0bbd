"""Stations to the sensors of a running system, over REST: as new sensors, many at once, or their places alone."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from coincide.command.faults import CommandError

AT_ONCE = 500
ANSWERED_WITHIN_S = 120.0
LONGEST_ANSWER = 16 * 2**20

Verdict = tuple[str, str, str]
"""A sensor, what became of it, and why if it was refused."""


def post_sensors(url: str, document: Mapping[str, Any], *, overwrite: bool) -> Iterator[Verdict]:
    """Create the sensors of a document, and with `overwrite` replace those that are there; yield what became of each.

    Raises CommandError where ingest does not answer, or takes none.
    """
    sensors: Sequence[Mapping[str, Any]] = document["sensors"]
    for begin in range(0, len(sensors), AT_ONCE):
        some = {**document, "sensors": sensors[begin : begin + AT_ONCE]}
        path = f"/v1/sensors{'?overwrite=true' if overwrite else ''}"
        status, answer = _asked(url, "POST", path, some, "application/json")
        if not isinstance(answer.get("items"), list):
            raise CommandError(_refusal(url, status, answer))
        for each in answer["items"]:
            yield str(each.get("id")), str(each.get("status")), str(each.get("detail") or "")


def patch_places(url: str, places: Mapping[str, Mapping[str, float]]) -> Iterator[Verdict]:
    """Give sensors that are there their places, and change nothing else of them; yield what became of each."""
    nothing = dict.fromkeys(("lat", "lon", "height_m", "x_m", "y_m", "z_m"))
    for sensor, place in places.items():
        path, patch = f"/v1/sensors/{quote(sensor, safe='')}", {"place": {**nothing, **place}}
        status, answer = _asked(url, "PATCH", path, patch, "application/merge-patch+json")
        if status not in (200, 404, 409, 422):
            raise CommandError(_refusal(url, status, answer))
        yield (sensor, "placed", "") if status == 200 else (sensor, "refused", str(answer.get("detail")))


def _refusal(url: str, status: int, answer: Mapping[str, Any]) -> str:
    return f"{url} answers {status}: {str(answer.get('detail') or 'nothing that this command knows')[:500]}"


def _asked(url: str, method: str, path: str, document: object, kind: str) -> tuple[int, dict[str, Any]]:
    headers = {"Content-Type": kind, "If-Match": "*"} if method == "PATCH" else {"Content-Type": kind}
    if key := os.environ.get("COINCIDE_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    body = json.dumps(document).encode()
    request = urllib.request.Request(url.rstrip("/") + path, body, headers, method=method)  # noqa: S310 - http(s) alone
    try:
        with _opener.open(request, timeout=ANSWERED_WITHIN_S) as response:
            return response.status, _json(response.read(LONGEST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            return error.code, _json(error.read(LONGEST_ANSWER))
    except OSError as error:
        raise CommandError(f"{url} does not answer: {getattr(error, 'reason', error)}") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows nobody to another address: the key is for this one."""

    def redirect_request(self, *_: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _json(content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
