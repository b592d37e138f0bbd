"""The command line of ``coincide``; numpy is all that reading it needs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from coincide.command.coalesce_arguments import CoalesceArguments, add_coalesce, check_coalesce
from coincide.command.join_arguments import JoinArguments, add_join, check_join, with_joined_windows


def parsed(argv: Sequence[str]) -> JoinArguments | CoalesceArguments:
    """Return the arguments; print help or what is wrong with them, and exit, as argparse does."""
    parser = argparse.ArgumentParser(prog="coincide", description="Which things happened together, and for how long.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    join, coalesce = add_join(commands), add_coalesce(commands)
    given = vars(parser.parse_args(with_joined_windows(argv)))
    if given["command"] == "join":
        arguments = JoinArguments(**given)
        check_join(arguments, join)
        return arguments
    wanted = CoalesceArguments(**given)
    check_coalesce(wanted, coalesce)
    return wanted
