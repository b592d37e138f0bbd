"""Codes: small integers for keys that come and go, so that arrays can be indexed by them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

from coincide.arrays.kinds import CodeArray

Key = TypeVar("Key", bound=Hashable)


class Codes(Generic[Key]):
    """Codes by key, from 0 on in the order in which keys first come; the codes of keys forgotten are given again."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._code_of = {key: code for code, key in enumerate(keys)}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._code_of)

    @property
    def size(self) -> int:
        """How long arrays by code must be: the codes in use, and the free ones."""
        return len(self._code_of) + len(self._free)

    @property
    def state(self) -> tuple[dict[Key, int], list[int]]:
        """The codes by key, and the free ones: all there is to save."""
        return dict(self._code_of), list(self._free)

    @classmethod
    def restore(cls, state: tuple[dict[Key, int], list[int]]) -> Codes[Key]:
        """Return codes that go on from a state."""
        codes = cls()
        codes._code_of, codes._free = dict(state[0]), list(state[1])
        return codes

    def get(self, key: Key) -> int | None:
        """Return the code of a key; None if the key is not known."""
        return self._code_of.get(key)

    def code(self, key: Key) -> int:
        """Return the code of a key, known or new; a new key takes the code that was freed last, if there is one."""
        code = self._code_of.get(key)
        if code is None:
            code = self._free.pop() if self._free else len(self._code_of)
            self._code_of[key] = code
        return code

    def forget(self, key: Key) -> int:
        """Free the code of a key, and return it."""
        code = self._code_of.pop(key)
        self._free.append(code)
        return code

    def keep_only(self, used: CodeArray) -> dict[Key, int]:
        """Free the codes that are not among `used`; return them by the keys that had them."""
        is_used = np.zeros(self.size, np.bool_)
        is_used[used[(used >= 0) & (used < self.size)]] = True
        forgotten = {key: code for key, code in self._code_of.items() if not is_used[code]}
        for key in forgotten:
            self.forget(key)
        return forgotten
