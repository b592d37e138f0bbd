"""JSON that is nested deeper than what shows it again can write."""

import pytest
from pydantic import BaseModel

from services.common.nesting import MOST_LEVELS, is_too_deep


class Shown(BaseModel):
    document: object


def nested(levels: int, *, in_objects: bool) -> object:
    document: object = 1
    for _ in range(levels):
        document = {"in": document, "beside": 2} if in_objects else [2, document]
    return document


@pytest.mark.parametrize("in_objects", [False, True])
def test_so_many_levels_are_allowed_as_can_be_shown(in_objects: bool) -> None:
    most = nested(MOST_LEVELS, in_objects=in_objects)
    assert not is_too_deep(most)
    assert Shown(document=most).model_dump_json()
    assert is_too_deep(nested(MOST_LEVELS + 1, in_objects=in_objects))
    assert is_too_deep(nested(20_000, in_objects=in_objects))
    assert not is_too_deep(list(range(1_000)))
