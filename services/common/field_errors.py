"""What pydantic finds wrong with a value, as one sentence; the jobs have pydantic, but not the HTTP framework."""

from typing import Any, Protocol


class FieldErrors(Protocol):
    """pydantic's ValidationError, or the HTTP framework's error of the same shape."""

    def errors(self) -> Any:
        """Return a mapping for each bad field: ``loc``, ``msg`` and ``input``."""


def describe_errors(error: FieldErrors) -> str:
    """Return one sentence naming each bad field, its value and what was allowed."""
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'value'}: {item['msg']}, got {_shortened(item.get('input'))}"
        for item in error.errors()
    )


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
