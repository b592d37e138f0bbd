import itertools
import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select

from services.alerting.kafka.records import STATES
from services.alerting.kafka.storing import Storage
from services.alerting.store.episode_rows import EpisodeFilter, StoredEpisode, read_newest_first
from services.alerting.store.tables import episodes
from tests.services.alerting.records import Record, current, episode_record, reading, revisions

#: One of a few episodes, a revision of it, and the state there.
Step = tuple[str, int, str]

COLUMNS = ("query", "area", "revision", "start_us", "end_us", "count", "best_probability")
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 4), st.sampled_from(STATES)), min_size=1, max_size=12, unique=True
)
_examples = itertools.count()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_order_batching_or_repetition_matters(engine: Engine, storage: Storage, data: st.DataObject) -> None:
    prefix = f"e-{next(_examples)}-"  # one database for all examples, each with episodes of its own
    steps = data.draw(STEPS)
    told = _store_anyhow(storage, prefix, steps, data)
    view = {each.id: json.loads(each.body) for each in told}  # what a reader of the live stream has in the end
    for name in {name for name, _, _ in steps}:
        id_ = prefix + name
        revision, rank = max((revision, STATES.index(state)) for of, revision, state in steps if of == name)
        expected = json.loads(_record(prefix, (name, revision, STATES[rank])).value or b"")
        assert current(engine, id_) == view[id_] == expected
        assert _columns(engine, id_) == [expected.get(column) for column in COLUMNS]
        kept = [(revision, STATES.index(state)) for revision, state in revisions(engine, id_)]
        assert kept == sorted(set(kept))
        assert kept[-1] == (revision, rank)


def _store_anyhow(storage: Storage, prefix: str, steps: list[Step], data: st.DataObject) -> list[StoredEpisode]:
    again = data.draw(st.lists(st.sampled_from(steps), max_size=6))
    sent = data.draw(st.permutations(steps + again))
    told: list[StoredEpisode] = []
    while sent:
        size = data.draw(st.integers(1, len(sent)))
        stored = storage.store([_record(prefix, step) for step in sent[:size]], [])
        told += [each for each in stored if isinstance(each, StoredEpisode)]
        sent = sent[size:]
    return told


def _record(prefix: str, step: Step) -> Record:
    name, revision, state = step
    if state == "retracted":
        return episode_record(prefix + name, revision, state, by=["e-other"])
    at_us = revision * 10 + STATES.index(state)
    return episode_record(prefix + name, revision, state, start_us=at_us, end_us=2 * at_us, count=revision + 1)


def _columns(engine: Engine, id_: str) -> list[object]:
    asked = select(*(episodes.c[name] for name in COLUMNS)).where(episodes.c.id == id_)
    with engine.connect() as connection:
        return list(connection.execute(asked).one())


def test_an_episode_keeps_its_place_in_the_list_when_it_changes(engine: Engine, storage: Storage) -> None:
    storage.store([episode_record(f"e-{n}", 1) for n in range(3)], [])
    storage.store([episode_record("e-0", 2), episode_record("e-3", 2), episode_record("e-1", 3, "retracted")], [])
    storage.store([episode_record("e-1", 4), episode_record("e-4", 4), episode_record("e-5", 4)], [])
    storage.store([episode_record("e-6", 5), episode_record("e-7", 5), episode_record("e-6", 6)], [])
    listed = reading(engine, read_newest_first, EpisodeFilter(), None, 10)
    assert [json.loads(row.body)["id"] for row in listed] == [f"e-{n}" for n in (7, 6, 5, 4, 3, 2, 1, 0)]
