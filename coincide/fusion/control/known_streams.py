"""KnownStreams: the streams of a shard by code. A change of one is seen at once by everybody who has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from coincide import Stream
from coincide.arrays.kinds import Int64Array

NO_ECHOES = -1
"""`echo_us` of a stream that has none."""


@dataclass(frozen=True)
class KnownStream:
    """A stream as it is declared now, or was when it was removed."""

    declared: Stream
    version: int = 0  # of the record that declared or removed it; 0: the file of streams did
    longest_kept_s: float = 0.0  # the longest template that any row may have which is kept
    is_removed: bool = False

    @property
    def kept(self) -> Stream:
        """Return it as retention sees it: rows may be kept whose templates are longer than is allowed by now."""
        return replace(self.declared, templates=None, longest_template_s=self.longest_kept_s)

    @property
    def echo_us(self) -> int:
        """How far behind another report of its sensor an echo is; `NO_ECHOES` where nothing is one."""
        echo_us = self.declared.echo_us
        return NO_ECHOES if echo_us is None or self.is_removed else echo_us

    def declared_otherwise(self, stream: Stream, version: int) -> KnownStream:
        """Return it as a later record declares it; what is kept of it may still be as long as before."""
        return KnownStream(stream, version, max(self.longest_kept_s, stream.longest_template_s))

    def removed(self, version: int) -> KnownStream:
        """Return it as a record removes it; its version stays known, so that no older record brings it back."""
        return replace(self, version=version, is_removed=True)


class KnownStreams:
    """Streams by code and by name. A code is given once; that of a removed stream stays until a restart.

    `names` has the name of each code, `codes` the code of each name; both grow in place. `delays_us` has the delays by
    code, `echo_us` how far behind another report an echo is, or `NO_ECHOES`. `revision` counts the changes.
    """

    def __init__(self, declared: Mapping[str, Stream]) -> None:
        self.names: list[str] = []
        self.codes: dict[str, int] = {}
        self.revision = 0
        self.delays_us: Int64Array = np.empty(0, np.int64)
        self.echo_us: Int64Array = np.empty(0, np.int64)
        self.kept: dict[str, Stream] = {}
        self._known: list[KnownStream] = []
        for stream in declared.values():
            self.put(KnownStream(stream, longest_kept_s=stream.longest_template_s))

    def __len__(self) -> int:
        """Return how many codes there are."""
        return len(self.names)

    def get(self, name: str) -> Stream | None:
        """Return the stream of that name if it is declared."""
        known = self.known(name)
        return None if known is None or known.is_removed else known.declared

    def known(self, name: str) -> KnownStream | None:
        """Return what is known of a stream, removed ones too."""
        code = self.codes.get(name)
        return None if code is None else self._known[code]

    def all(self) -> list[KnownStream]:
        """Return what is known of every stream, by code."""
        return list(self._known)

    def put(self, known: KnownStream) -> None:
        """Let a stream be so from now on."""
        name = known.declared.name
        if name not in self.codes:
            self.codes[name] = len(self.names)
            self.names.append(name)
            self._known.append(known)
        self._known[self.codes[name]] = known
        self.kept[name] = known.kept
        self.delays_us = np.array([each.declared.max_delay_us for each in self._known], np.int64)
        self.echo_us = np.array([each.echo_us for each in self._known], np.int64)
        self.revision += 1
