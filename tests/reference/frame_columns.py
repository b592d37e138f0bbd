"""The columns of a frame, written from the definition: the way back from `frames.rows_of`."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.reference.frames import STAMP_FIELDS


def frame_of(
    area: str, received_at_us: int, templates: Mapping[str, Any], detections: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the frame that holds `detections`; `templates` are their histograms by id, and may be more."""
    stamps: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {"stamp": [], "detected_at_us": [], "id": [], "attributes": []}
    for detection in detections:
        stamp = {name: detection[name] for name in STAMP_FIELDS}
        if stamp not in stamps:
            stamps.append(stamp)
        columns["stamp"].append(stamps.index(stamp))
        for name in ("detected_at_us", "id", "attributes"):
            columns[name].append(detection[name])
    if not any(columns["attributes"]):
        del columns["attributes"]
    used = {stamp["template"]: templates[stamp["template"]] for stamp in stamps}
    head = {"v": 2, "area": area, "received_at_us": received_at_us}
    return {**head, "templates": used, "stamps": stamps, "detections": columns}
