"""Host: what whoever runs a core knows while it pushes, and is told."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType


def _nothing() -> Mapping[str, int]:
    return MappingProxyType({})


def _ignore(_query: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class Host:
    """By default it knows nothing."""

    stopped: Callable[[], Mapping[str, int]] = _nothing
    """Returns by id the versions to come that pause or remove a query, as far as they are known by now."""
    fatal: Set[str] = field(default_factory=frozenset)
    """Queries at which workers died that took these records before."""
    at_work: Callable[[str], None] = _ignore
    """Is told the id of a query before it is answered, and "" once it is."""


UNKNOWING = Host()
