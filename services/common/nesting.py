"""How deep JSON from outside may be nested: what shows it again gives up far below what reads it."""

from typing import Any

MOST_LEVELS = 100


def is_too_deep(document: Any) -> bool:
    """Whether a document, as it was read from JSON, has more than `MOST_LEVELS` levels of objects and arrays."""
    level = [document]
    for _ in range(MOST_LEVELS + 1):
        level = [child for each in level for child in _children(each)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
