"""Outputs of the fusion core as the laws compare them."""

from __future__ import annotations

from typing import Any

from spark_jobs.records.kafka_records import Output
from tests.reference.fusion import Found
from tests.spark_jobs.building import matches, status


def found(output: Output) -> list[Found]:
    """Return the matches as the slow twin gives them."""
    return [
        (
            match["id"],
            match["query"],
            match["query_version"],
            match["area"],
            tuple((member["role"], member["sensor"], member["id"]) for member in match["members"]),
            tuple(match.get("supersedes", ())),
        )
        for match in matches(output)
    ]


def but_for_template_pairs(output: Output) -> tuple[dict[str, Any], object, object]:
    """Return what a restart must not change: what was computed and measured by the process that ended it may."""
    known = {name: value for name, value in status(output).items() if name != "template_pairs"}
    for query in known["queries"].values():
        query.pop("coalescing", None)
    return known, output.matches, output.dead_letters
