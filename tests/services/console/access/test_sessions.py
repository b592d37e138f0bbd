"""Sessions end when they are unused, when there are too many, and when somebody ends them."""

from services.console.access.sessions import PersonSessions
from services.console.rest.documents import CallerAnswer

ANN = CallerAnswer("ann", ["read"], "0123456789ab")


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_session_lives_as_long_as_it_is_used() -> None:
    clock = Clock()
    sessions = PersonSessions(10, 60.0, clock)
    session = sessions.begin("ck_x", ANN)
    for _ in range(5):
        clock.now_s += 59
        found = sessions.find(session.id)
        assert found is not None
        assert (found.key, found.caller) == ("ck_x", ANN)
    clock.now_s += 61
    assert sessions.find(session.id) is None
    assert not sessions.is_open(session.id)


def test_the_longest_unused_gives_way_to_a_new_one() -> None:
    clock = Clock()
    sessions = PersonSessions(2, 60.0, clock)
    first, second = sessions.begin(None, ANN), sessions.begin(None, ANN)
    sessions.find(first.id)
    third = sessions.begin(None, ANN)
    assert [sessions.is_open(each.id) for each in (first, second, third)] == [True, False, True]
    assert len(sessions) == 2


def test_ids_cannot_be_guessed_and_nobody_has_none() -> None:
    sessions = PersonSessions(1000, 60.0)
    ids = {sessions.begin(None, ANN).id for _ in range(100)}
    assert len(ids) == 100
    assert min(map(len, ids)) >= 43  # 256 bits
    assert sessions.find(None) is None
    assert sessions.find("") is None
    sessions.end("nobody")


def test_an_admin_may_do_everything() -> None:
    assert CallerAnswer("root", ["admin"]).may("queries")
    assert not ANN.may("queries")
