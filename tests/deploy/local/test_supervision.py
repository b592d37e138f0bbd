"""What the process runner does with a process that ends again and again."""

import configparser

from deploy.local.machine import HERE

OUTAGE_S = 600  # of a disk that is full, say


def test_nobody_is_given_up_within_ten_minutes() -> None:
    """Supervisor waits 1, 2, 3, ... seconds before it tries again; the harbour only entertains."""
    parser = configparser.RawConfigParser(inline_comment_prefixes=(";",))
    parser.read(HERE / "supervisord.conf")
    programs = {name: parser[name] for name in parser.sections() if name.startswith("program:")}
    tries = {name: int(program["startretries"]) for name, program in programs.items() if name != "program:harbour"}
    assert len(tries) == 7
    assert {name: count for name, count in tries.items() if count * (count + 1) / 2 < OUTAGE_S} == {}
