"""Names that people give, where they are registered: what they may be, and how that is said to who is refused."""

from typing import Annotated

from msgspec import Meta

from coincide.wire.fields import LONGEST_NAME

#: Characters that nobody sees, that break a line, or that turn the order of what is written around them.
_UNSEEN = r"\x00-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060\u2066-\u2069\ufeff"
_NAME = rf"^(?!\s)[^{_UNSEEN}]+(?<!\s)\Z"
#: No path can name what has a slash, and . and .. are folders there.
_ADDRESSED = rf"^(?!\s|\.\.?\Z)[^/{_UNSEEN}]+(?<!\s)\Z"
_NAME_IN_WORDS = "a text without control characters, signs that turn its direction, and blanks at its ends"
#: What each form allows, for who is refused.
FORMS_IN_WORDS = {_NAME: _NAME_IN_WORDS, _ADDRESSED: f"{_NAME_IN_WORDS}, with no '/', and not just '.' or '..',"}

#: Of an area or a stream, where they are registered, and of what is said of a sensor.
RegisteredName = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=_NAME)]
REGISTERED_NAME_IN_WORDS = f"{_NAME_IN_WORDS}, of 1 to {LONGEST_NAME} characters"

#: Of a sensor, which is found by it under /v1/sensors.
SensorId = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=_ADDRESSED)]

SENSOR_ID_IN_WORDS = f"{FORMS_IN_WORDS[_ADDRESSED]} of 1 to {LONGEST_NAME} characters"

#: Of a template; what looks like the id of one is none.
TemplateName = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_NAME, pattern=rf"^(?!t-[0-9a-f]{{16}}\Z){_ADDRESSED[1:]}")
]
TEMPLATE_NAME_IN_WORDS = f"{FORMS_IN_WORDS[_ADDRESSED]} of 1 to {LONGEST_NAME} characters, and no id of one"
