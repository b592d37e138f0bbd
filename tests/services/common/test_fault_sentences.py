"""What a library finds wrong is said in words of the field, and no word of the library comes through."""

import re
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from services.common.fault_sentences import describe_errors, fault_of

OF_A_LIBRARY = re.compile(r"Expected|Object|\$|`|[Ii]nput|Extra|Field required|valid string|regex|Value error")


class Place(Struct, forbid_unknown_fields=True):
    lat: Annotated[float, Meta(ge=-90, le=90)]


class Thing(Struct, forbid_unknown_fields=True):
    area: Annotated[str, Meta(min_length=1, max_length=5, pattern="^[a-z]*$")] = "a"
    streams: Annotated[dict[Annotated[str, Meta(min_length=1)], str | dict[str, Any]], Meta(min_length=1)] = {}
    place: Place | None = None
    count: int = 1
    every_s: Annotated[float, Meta(gt=0)] | None = None
    places: list[Place] = []
    both: tuple[int, int] = (1, 2)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "this is a list: a JSON object is allowed"),
        ({"area": 5}, "area is a whole number: a text is allowed"),
        ({"area": ""}, "area: a text of at least 1 character is allowed"),
        ({"area": "abcdefg"}, "area: a text of at most 5 characters is allowed"),
        ({"area": "A"}, "area: a text of another form is allowed"),
        ({"streams": {}}, "streams: a JSON object of at least 1 member is allowed"),
        ({"streams": {"": "x"}}, "a name in streams: a text of at least 1 character is allowed"),
        ({"streams": {"a": 5}}, "a value of streams is a whole number: a text or a JSON object is allowed"),
        ({"max_delay": 1}, "max_delay: there is no such field"),
        ({"place": {}}, "place.lat is missing"),
        ({"place": {"lat": 1, "z": 1}}, "place.z: there is no such field"),
        ({"place": {"lat": "x"}}, "place.lat is a text: a number is allowed"),
        ({"place": {"lat": 100}}, "place.lat: a number of at most 90 is allowed"),
        ({"place": 5}, "place is a whole number: a JSON object is allowed"),
        ({"count": 1.5}, "count is a number: a whole number is allowed"),
        ({"count": True}, "count is true or false: a whole number is allowed"),
        ({"every_s": -1}, "every_s: a number above 0 is allowed"),
        ({"places": [{"lat": 1}, {"lat": None}]}, "places[1].lat is null: a number is allowed"),
        ({"both": [1]}, "both has 1: a list of just 2 members is allowed"),
    ],
)
def test_each_complaint_of_msgspec_is_a_sentence(document: Any, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(document, Thing)
    assert fault_of(caught.value) == said
    assert not OF_A_LIBRARY.search(said)


class Way(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(min_length=3, max_length=9)
    timeout_s: float = Field(10.0, gt=0, le=60)
    kind: Literal["a", "b"] = "a"
    urls: list[str] = Field(["x"], min_length=1, max_length=2)
    is_on: bool = True
    port: int = 1

    @field_validator("url")
    @classmethod
    def _refuse(cls, text: str) -> str:
        if text == "bad":
            raise ValueError("an http or https URL")
        return text


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "url is missing"),
        ({"url": "x" * 3, "urk": 1}, "urk: there is no such field"),
        ({"url": 5}, "url is 5: a text"),
        ({"url": "bad"}, "url is 'bad': an http or https URL"),
        ({"url": "x"}, "url is 'x': a text of at least 3 characters"),
        ({"url": "x" * 3, "timeout_s": 0}, "timeout_s is 0: a number above 0"),
        ({"url": "x" * 3, "timeout_s": 61}, "timeout_s is 61: a number of at most 60"),
        ({"url": "x" * 3, "timeout_s": "soon"}, "timeout_s is 'soon': a number"),
        ({"url": "x" * 3, "kind": "c"}, "kind is 'c': 'a' or 'b'"),
        ({"url": "x" * 3, "urls": []}, "urls is []: at least 1 members"),
        ({"url": "x" * 3, "is_on": "maybe"}, "is_on is 'maybe': true or false"),
        ({"url": "x" * 3, "port": 1.5}, "port is 1.5: a whole number"),
        ([], "an object"),
    ],
)
def test_each_complaint_of_pydantic_is_a_sentence(document: Any, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Way.model_validate(document)
    assert describe_errors(caught.value.errors()) == said
    assert not OF_A_LIBRARY.search(said)


def test_what_may_be_a_secret_is_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Way.model_validate({"url": 5, "timeout_s": -1})
    assert describe_errors(caught.value.errors(), shows_values=False) == "url: a text; timeout_s: a number above 0"
