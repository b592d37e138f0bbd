"""Places that are few: never more than there are, never more than half for one, and none is lost."""

import pytest
from fastapi import FastAPI, Response
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Receive, Scope, Send

from services.common.http.problem import install_problem_handlers
from services.common.http.shares import NoPlaceError, Shares


@given(st.integers(1, 9), st.lists(st.tuples(st.booleans(), st.sampled_from(["ann", "ben", "eve", None])), max_size=60))
def test_nobody_takes_more_than_half_and_all_no_more_than_there_are(
    most: int, steps: list[tuple[bool, str | None]]
) -> None:
    shares, taken = Shares(most, "places"), list[str | None]()
    for is_leaving, peer in steps:
        if is_leaving and peer in taken:
            taken.remove(peer)
            shares.leave(peer)
            continue
        expected = 503 if len(taken) == most else 429 if peer and 2 * taken.count(peer) >= most else None
        if expected is None:
            shares.take(peer)
            taken.append(peer)
        else:
            with pytest.raises(NoPlaceError, match="places") as why:
                shares.take(peer)
            assert why.value.status == expected
        assert len(shares) == len(taken) <= most


def test_who_is_alone_says_so_and_who_is_one_of_many_too() -> None:
    shares = Shares(3, "readers")
    for _ in range(2):
        shares.take("ann")
    with pytest.raises(NoPlaceError, match="2 of 3 readers are yours"):
        shares.take("ann")
    shares.take("ben")
    with pytest.raises(NoPlaceError, match="there are 3 readers"):
        shares.take("eve")


class Seated(Response):
    """An answer that takes a place while it is sent."""

    shares: Shares

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.shares.place(None):
            await super().__call__(scope, receive, send)


@pytest.mark.parametrize(("taken", "status"), [(["me"], 429), (["ann", "ben"], 503), ([], 200)])
@pytest.mark.parametrize("path", ["/asked", "/sent"])
def test_an_application_answers_that_there_is_no_place(path: str, taken: list[str], status: int) -> None:
    app, shares = FastAPI(), Shares(2, "seats", retry_s=7)
    install_problem_handlers(app)
    for peer in taken:
        shares.take(peer)

    @app.get("/asked")
    def asked() -> None:
        with shares.place("me"):
            return

    @app.get("/sent")
    def sent() -> Response:
        answer = Seated()
        answer.shares = shares
        return answer

    answer = TestClient(app).get(path)
    if path == "/sent" and status == 429:  # whoever is not known has no share of its own
        status = 200
    assert answer.status_code == status
    assert len(shares) == len(taken)
    if status != 200:
        assert answer.headers["retry-after"] == "7"
        assert "seats" in answer.json()["detail"]
