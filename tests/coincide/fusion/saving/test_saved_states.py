"""States that this and earlier releases saved: each is gone on from, and one of a later release is a halt."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import msgpack, structs

from coincide.fusion.batches.activations import PushedOffsets
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.batches.live_shard import CHUNK, HEADER, SLOT, LiveShard
from coincide.fusion.saving.journal import Slot
from coincide.fusion.saving.state_format import FORMAT, StateError, UnfitStateError
from spark_jobs.recovery.halt import Halt, halt_of
from tests.coincide.fusion.saving.saved_states import (
    FOLDER,
    LIMITS,
    STREAMS,
    VERSION_BYTES,
    State,
    after,
    before,
    load,
    shape_of,
)

FILES = sorted(FOLDER.glob("format-*.ndjson"))
PRESENT = FOLDER / f"format-{FORMAT}.ndjson"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_saved_state_is_gone_on_from_with_the_right_answers(path: Path) -> None:
    state, expected = load(path)
    found = after(state)
    assert found == expected
    assert {topic for topic, *_ in found} == {"matches", "episodes", "evidence", "dead-letters"}
    matches = [member for topic, _, *member in found if topic == "matches"]
    assert matches[:2] == [["p8", "s8"], ["q8", "s8"]]  # left
    assert ["e7.0", "s7"] in matches  # held back when it was saved
    assert not any(member.endswith((".1", ".2")) for match in matches for member in match)


def test_another_shape_of_the_state_is_another_format() -> None:
    """Where this fails: raise FORMAT, read the format before as well, and write the file of the new one (README.md)."""
    assert PRESENT in FILES
    assert shape_of(before()) == shape_of(load(PRESENT)[0])


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "of something else": lambda _: msgpack.encode([FORMAT, 0, "bay"]),
    "nested": lambda _: b"\x91" * 20_000,
}


def halted(state: State) -> Halt | None:
    """The halt that restoring a shard from this state leads to."""
    with pytest.raises(StateError) as refused:
        LiveShard.restored(FusionCores(STREAMS, LIMITS), 0, state)
    return halt_of(RuntimeError(f"Traceback:\n  File x\nspark_jobs.saving.StateError: {refused.value}\n\tat java"))


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("kind", [HEADER[0], SLOT, CHUNK])
def test_a_state_that_was_damaged_is_a_halt_that_says_so(kind: str, damage: Callable[[bytes], bytes]) -> None:
    state, _ = load(PRESENT)
    key = next(key for key in sorted(state) if key[0] == kind)
    halt = halted({**state, key: damage(state[key])})
    assert halt is not None
    assert halt.reason == "checkpoint_damaged"


def test_rows_of_a_sensor_that_their_slot_does_not_have_are_damage() -> None:
    state, _ = load(PRESENT)
    key = min(key for key in state if key[0] == SLOT and key[1] >= 0)
    slot = Slot.decode(state[key])
    wrong = structs.replace(slot, sensor=b"\xff\xff" * len(slot.ids))
    halt = halted({**state, key: msgpack.encode(wrong)})
    assert halt is not None
    assert halt.reason == "checkpoint_damaged"


def of_format(state: State, number: int) -> State:
    """Return a state whose header says that it has another format."""
    content = state[HEADER]
    pushed, header = PushedOffsets.split(content[VERSION_BYTES:])
    _, *fields = msgpack.decode(header)
    return {**state, HEADER: content[:VERSION_BYTES] + pushed.encode() + msgpack.encode([number, *fields])}


@pytest.mark.parametrize("number", [FORMAT + 1, FORMAT - 1, 99])
def test_a_state_of_a_format_that_nobody_knows_is_a_halt_with_a_way_out(number: int) -> None:
    state, _ = load(PRESENT)
    with pytest.raises(UnfitStateError) as refused:
        after(of_format(state, number))
    reported = RuntimeError(f"Traceback:\n  File x\nspark_jobs.saving.UnfitStateError: {refused.value}\n\tat java")
    halt = halt_of(reported)
    assert halt is not None
    assert halt.reason == "checkpoint_unfit"
    said = f"the state's header has format {number}: this version reads {FORMAT}"
    assert str(halt) == f"{said}: go back to what it was made for, or rebuild"
