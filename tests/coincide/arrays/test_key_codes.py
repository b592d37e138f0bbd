"""Codes that are given again, against a dict and the least that is promised of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coincide.arrays.key_codes import Codes

steps = st.lists(st.tuples(st.sampled_from(["code", "forget", "keep"]), st.integers(0, 8)), max_size=60)


@given(steps)
def test_keys_keep_their_codes_and_free_ones_are_used_before_new_ones(steps: list[tuple[str, int]]) -> None:
    codes: Codes[int] = Codes()
    by_key: dict[int, int] = {}
    most = 0
    for step, key in steps:
        if step == "code":
            by_key[key] = codes.code(key)
        elif step == "keep":
            used = np.array([code for each, code in by_key.items() if each < key], np.int32)
            assert codes.keep_only(used) == {each: code for each, code in by_key.items() if each >= key}
            by_key = {each: code for each, code in by_key.items() if each < key}
        elif key in by_key:
            assert codes.forget(key) == by_key.pop(key)
        most = max(most, len(by_key))
        assert {each: codes.get(each) for each in range(9)} == {each: by_key.get(each) for each in range(9)}
        assert len(codes) == len(by_key) == len(set(by_key.values()))
        assert max(by_key.values(), default=-1) < codes.size == most
