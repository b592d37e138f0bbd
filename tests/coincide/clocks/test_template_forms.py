from typing import Any

import msgspec
import pytest

from coincide import Histogram
from coincide.clocks import Clock
from coincide.clocks.template_forms import template_of_form
from coincide.errors import HistogramError
from coincide.fusion.rows.event_table import TemplateFault, VerifiedTemplates
from coincide.templates.packed import packed, packed_bytes, unpacked

ON_CLOCK = Clock("gw-7", Histogram.uniform(-30, 30)).template(Histogram.normal(0.5))


def test_forms_of_a_clock() -> None:
    form = {"clock": "gw-7", "error": {"uniform": [-30, 30]}, "own": {"normal": {"sigma_s": 0.5}}}
    assert template_of_form(form) == ON_CLOCK
    assert template_of_form(ON_CLOCK.to_json()) == ON_CLOCK
    learnt = template_of_form({**form, "template": {"uniform": [-32, 32]}})
    assert (learnt.earliest_s, learnt.to_json()["own"]) == (-32.0, ON_CLOCK.own.to_json())
    assert template_of_form({"point": True}) == Histogram.point()


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"clock": "gw-7", "error": {"point": True}, "template": {"point": True}}, "own is None: .* a template alone"),
        ({"clock": "gw-7", "own": {"point": True}}, "a template on a clock takes clock, error and own"),
        (
            {"clock": "gw-7", "own": {"point": True}, "error": {"point": True}, "sigma": 3},
            "a template on a clock takes",
        ),
        ({"clock": "gw-7", "own": {"uniform": [2, 1]}, "error": {"point": True}}, r"own.edges_s is \[2, 1\]"),
        ({"clock": "gw-7", "own": ON_CLOCK.to_json(), "error": {"point": True}}, "own.form is"),
        ({"clock": 7, "own": {"point": True}, "error": {"point": True}}, "clock is 7: a text"),
    ],
)
def test_what_is_wrong_is_named(form: dict[str, Any], says: str) -> None:
    with pytest.raises(HistogramError, match=says):
        template_of_form(form)


def test_packed_it_is_the_same() -> None:
    for template in (ON_CLOCK, Histogram.normal(2, 64), Histogram.point()):
        again = unpacked(packed(template))
        assert (type(again), again, again.id) == (type(template), template, template.id)
        assert packed_bytes(template) >= sum(map(len, packed(template)))


def test_frames_carry_it() -> None:
    templates, content = VerifiedTemplates(64), msgspec.Raw(msgspec.json.encode(ON_CLOCK.to_json()))
    code = templates.code(ON_CLOCK.id, content)
    assert templates.histogram(code) == ON_CLOCK
    assert templates.code("t-0123456789abcdef", content) == TemplateFault.MISMATCH
    longest = VerifiedTemplates(8)
    assert longest.code(ON_CLOCK.id, content) == TemplateFault.MALFORMED  # its whole has more buckets than 8
    half = {name: value for name, value in ON_CLOCK.to_json().items() if name != "own"}
    assert templates.code("t-1", msgspec.Raw(msgspec.json.encode(half))) == TemplateFault.MALFORMED
