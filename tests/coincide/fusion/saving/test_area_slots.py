"""Areas come back from their slots as they were, and a batch writes few of them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.saving.area_slots import FIRST_NUMBER, AreaSlot
from tests.coincide.fusion.inputs import Row, frame, heartbeat, started
from tests.coincide.fusion.outputs import SavedCore
from tests.examples import examples

THREE_AREAS_A_SLOT = Limits(max_slot_bytes=768, merge_slots_from=2, sweep_after=1, forget_area_after_s=100, quiet_s=10)
NAMES = [f"area-{nth}" for nth in range(9)]


@st.composite
def batches(draw: st.DrawFn) -> list[list[InputRecord]]:
    """Frames of nine areas and heartbeats, now and then a silence after which all other areas are forgotten."""
    made: list[list[InputRecord]] = []
    now_s, offset = 1000, 0
    for _ in range(draw(st.integers(1, 12))):
        batch = []
        for name in draw(st.lists(st.sampled_from([*NAMES, ""]), max_size=6)):
            now_s, offset = now_s + draw(st.sampled_from([0, 1, 5, 9, 40, 101])), offset + 1
            row = Row(f"p{offset}", float(now_s))
            batch.append(frame(offset, [row], name, received_at_s=now_s) if name else heartbeat(offset, now_s))
        made.append(batch)
    return made


def known(core: FusionCore) -> dict[str, tuple[object, ...]]:
    areas = core._state.codes.areas
    return {
        area.name: (
            area.since,
            areas.times.of(area.code),
            areas.watermark.us(area.code),
            area.rates.saved(core._state.codes.streams.names),
        )
        for area in areas
    }


@settings(max_examples=examples(60), deadline=None)
@given(batches(), st.data())
def test_a_restart_brings_back_the_areas_that_are_known_and_no_other(
    made: list[list[InputRecord]], data: st.DataObject
) -> None:
    never = restarted = started(limits=THREE_AREAS_A_SLOT)
    saved = SavedCore(limits=THREE_AREAS_A_SLOT)
    for batch in made:
        never.push(batch)
        saved.save(never)
        restarted = saved.restored(data.draw(st.permutations(list(saved.slots.values()))))
        assert known(restarted) == known(never)
        never = restarted if data.draw(st.booleans()) else never


def test_a_slot_lists_its_areas_by_name_however_they_came() -> None:
    core = started()
    core.push([frame(nth, [Row("p", 1000.0)], name) for nth, name in enumerate(["hill", "bay", "sea"])])
    [slot] = (AreaSlot.decode(slot) for number, slot in core.journal().items() if number >= FIRST_NUMBER)
    assert [area.name for area in slot.areas] == ["bay", "hill", "sea"]


def test_a_batch_writes_no_more_because_many_areas_are_known() -> None:
    core = started(limits=Limits())
    core.push([frame(nth, [Row("p", 1000.0)], f"area-{nth}") for nth in range(6_000)])
    all_at_once = sum(map(len, core.journal().values()))
    random = np.random.default_rng(5)
    written, slots = [], []
    for nth in range(200):
        names = [f"area-{code}" for code in random.integers(0, 6_000, 8)]
        core.push([frame(30_000 + 8 * nth + at, [Row("p", 1000.0)], name) for at, name in enumerate(names)])
        written.append(sum(map(len, core.journal().values())) + len(core.header()))
        slots.append(len(core._state.area_slots.live))
    assert max(written) < all_at_once / 10  # also where sparse slots are merged
    assert np.median(written) < all_at_once / 200
    assert max(slots) < 6_000 / 256 + 70  # full ones, and those that wait to be merged
