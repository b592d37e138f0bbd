"""`make audit` against a database on this machine: some known, none known, and nobody who judges."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from deploy.host.machine import free_ports
from deploy.supply import advisories as command
from deploy.supply.parts import parts

#: From the queries of one question to the answer: a document, or the text of it.
Answer = Callable[[list[dict[str, Any]]], Any]


@contextmanager
def database(answer: Answer, status: int = 200) -> Iterator[str]:
    """Yield the URL of a database that gives each question ``answer``."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/querybatch"
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            given = answer(asked["queries"])
            body = (given if isinstance(given, str) else json.dumps(given)).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def knowing(faults: dict[str, list[str]]) -> Answer:
    def answer(queries: list[dict[str, Any]]) -> Any:
        ids = [faults.get(each["package"]["purl"].split("@")[0], []) for each in queries]
        return {"results": [{"vulns": [{"id": each} for each in some]} if some else {} for some in ids]}

    return answer


def test_known_faults_are_told_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    faults = {"pkg:pypi/h11": ["B-2", "A-1"], "pkg:maven/org.apache.kafka/kafka_2.13": ["C-3"], "pkg:pypi/other": ["D"]}
    with database(knowing(faults)) as url:
        assert command.main(["--database", url]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split("@")[0] for line in said[:-1]] == ["pkg:maven/org.apache.kafka/kafka_2.13", "pkg:pypi/h11"]
    assert said[1].endswith(": A-1, B-2")
    assert said[-1] == f"2 of {len(parts())} parts have a known fault, says {url}"


def test_none_known_is_a_success(capsys: pytest.CaptureFixture[str]) -> None:
    with database(knowing({})) as url:
        assert command.main(["--database", url]) == 0
    assert capsys.readouterr().out.startswith("0 of ")


def test_every_part_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(queries: list[dict[str, Any]]) -> Any:
        assert len(queries) <= 50
        asked.extend(each["package"]["purl"] for each in queries)
        return {"results": [None] * len(queries)}  # so OSV says that it knows nothing

    monkeypatch.setattr(command, "PARTS_A_QUESTION", 50)
    with database(answer) as url:
        assert command.main(["--database", url]) == 0
    assert asked == [part.purl for part in parts()]


def test_further_pages_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(queries: list[dict[str, Any]]) -> Any:
        results: list[dict[str, Any]] = []
        for query in queries:
            page = int(query.get("page_token", 0))
            is_h11 = query["package"]["purl"].startswith("pkg:pypi/h11@")
            further = {"next_page_token": str(page + 1)} if page < 2 else {}
            results.append({"vulns": [{"id": f"P-{page}"}], **further} if is_h11 else {})
        return {"results": results}

    with database(answer) as url:
        assert command.main(["--database", url]) == 1
    assert "P-0, P-1, P-2\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda _: {"results": []}, 200),
        (lambda _: [], 200),
        (lambda _: "<html>sign in</html>", 200),
        (lambda queries: {"results": [{}] * len(queries)}, 503),
        (lambda queries: {"results": [{"next_page_token": "again"}] * len(queries)}, 200),
    ],
    ids=["too few", "another shape", "no JSON", "an error", "no end"],
)
def test_an_answer_that_judges_nothing_is_neither_good_nor_bad(
    answer: Answer, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with database(answer, status) as url:
        assert command.main(["--database", url]) == 69
    said = capsys.readouterr()
    assert said.err.startswith(f"Nobody judged the {len(parts())} parts: {url} could not be asked (")
    assert not said.out


def test_where_it_cannot_be_reached_nobody_judged(capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    assert command.main(["--database", url]) == 69
    assert url in capsys.readouterr().err
