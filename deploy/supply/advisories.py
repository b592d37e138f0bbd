"""Ask a database of advisories, as OSV is one, whether it knows some of a part: ``python -m deploy.supply.advisories``.

One database knows Python packages and jars, so one question does. Exit status: 0 it knows none, 1 it knows some, 69 it
could not be asked, which is neither.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import httpx2

from deploy.supply.parts import ShippedPart, parts

DATABASE = "https://api.osv.dev"
KNOWN, UNAVAILABLE = 1, os.EX_UNAVAILABLE
TIMEOUT_S = 20.0
PARTS_A_QUESTION = 500  # it takes 1,000
MOST_PAGES = 20


class UnavailableError(Exception):
    """The database gave no answer that judges the parts."""


def advisories(listed: Sequence[ShippedPart], database: str) -> dict[str, list[str]]:
    """Return the ids of the advisories of each part that has some, by its purl."""
    known: dict[str, list[str]] = {}
    with httpx2.Client(base_url=database, timeout=TIMEOUT_S) as client:
        for start in range(0, len(listed), PARTS_A_QUESTION):
            purls = [part.purl for part in listed[start : start + PARTS_A_QUESTION]]
            for purl, ids in _asked(client, purls).items():
                known[purl] = sorted(ids)
    return known


def _asked(client: httpx2.Client, purls: list[str]) -> dict[str, set[str]]:
    """Ask of ``purls``, and of those with a further page again."""
    known: dict[str, set[str]] = {}
    pages: dict[str, str | None] = dict.fromkeys(purls)
    for _ in range(MOST_PAGES):
        results = _answer(client, pages)
        further = {}
        for purl, result in zip(pages, results, strict=True):
            if ids := {each["id"] for each in result.get("vulns", [])}:
                known.setdefault(purl, set()).update(ids)
            if token := result.get("next_page_token"):
                further[purl] = token
        if not further:
            return known
        pages = further
    raise UnavailableError(f"it had not told all after {MOST_PAGES} pages")


def _answer(client: httpx2.Client, pages: dict[str, Any]) -> list[dict[str, Any]]:
    queries = [{"package": {"purl": purl}} | ({"page_token": token} if token else {}) for purl, token in pages.items()]
    try:
        answer = client.post("/v1/querybatch", json={"queries": queries}).raise_for_status().json()
    except (httpx2.HTTPError, ValueError) as error:
        raise UnavailableError(str(error) or type(error).__name__) from error
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != len(queries):
        raise UnavailableError("what it answered is no list of a result for each part")
    return [each or {} for each in results]


def main(arguments: list[str] | None = None) -> int:
    """Say what the database knows; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m deploy.supply.advisories", description="Look for known faults.")
    parser.add_argument("--database", default=DATABASE, metavar="URL", help="default: %(default)s")
    database = parser.parse_args(arguments).database
    listed = parts()
    try:
        known = advisories(listed, database)
    except UnavailableError as error:
        sys.stderr.write(f"Nobody judged the {len(listed)} parts: {database} could not be asked ({error})\n")
        return UNAVAILABLE
    for purl, ids in known.items():
        sys.stdout.write(f"{purl}: {', '.join(ids)}\n")
    sys.stdout.write(f"{len(known)} of {len(listed)} parts have a known fault, says {database}\n")
    return KNOWN if known else 0


if __name__ == "__main__":
    sys.exit(main())
