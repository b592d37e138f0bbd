"""TopicNames: a topic is called by its short name, such as sensors; behind the prefix of its system it is Kafka's."""

import argparse
import re
from dataclasses import dataclass

DEFAULT_PREFIX = "coincide."
#: What Kafka allows in the name of a topic, which has 249 characters at most.
PREFIX_PATTERN = r"^[A-Za-z0-9._-]{1,200}$"


@dataclass(frozen=True)
class TopicNames:
    """The names that topics have in Kafka; a `ValueError` says that none may begin with `prefix`."""

    prefix: str = DEFAULT_PREFIX

    def __post_init__(self) -> None:
        if not re.fullmatch(PREFIX_PATTERN, self.prefix):
            raise ValueError(
                f"topic prefix {self.prefix[:300]!r}: allowed are 1 to 200 letters, digits, and any of . _ -"
            )

    def full(self, name: str) -> str:
        """Return the name that Kafka knows.

        >>> TopicNames("reef.").full("sensors")
        'reef.sensors'
        """
        return self.prefix + name

    @property
    def option(self) -> str:
        """What a command is told so that it goes by the same names: nothing where the prefix is the default."""
        return "" if self.prefix == DEFAULT_PREFIX else f" --prefix {self.prefix}"

    def short(self, topic: str) -> str:
        """Return the short name of one of these topics; any other keeps its name.

        >>> TopicNames("reef.").short("reef.sensors"), TopicNames("reef.").short("coincide.sensors")
        ('sensors', 'coincide.sensors')
        """
        return topic.removeprefix(self.prefix)


DEFAULT_NAMES = TopicNames()


def add_prefix_option(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--prefix``, and have `TopicNames` of it."""
    text = f"what every topic's name begins with (default: {DEFAULT_PREFIX})"
    parser.add_argument("--prefix", dest="names", type=_names, default=DEFAULT_PREFIX, metavar="PREFIX", help=text)


def _names(prefix: str) -> TopicNames:
    try:
        return TopicNames(prefix)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
