"""The option by which a command is told of another Kafka than the settings name."""

import argparse
import os

from pydantic import ValidationError

from services.common.fault_sentences import describe_errors
from services.common.kafka.connection import KafkaConnection
from services.common.settings import load_connection


def add_connection_option(parser: argparse.ArgumentParser) -> None:
    """Let a command take ``--kafka``; `connection_of` has what is meant."""
    text = "Kafka brokers (default: those of config/kafka.yaml and COINCIDE_KAFKA_*, which have all else, too)"
    parser.add_argument("--kafka", dest="servers", type=_servers, metavar="HOST:PORT", help=text)


def connection_of(given: argparse.Namespace) -> KafkaConnection:
    """Return the connection that a command is to use; a `SettingsError` says what is wrong with it."""
    return load_connection(os.environ, None if given.servers is None else {"servers": given.servers})


def _servers(text: str) -> str:
    try:
        return KafkaConnection(servers=text).servers
    except ValidationError as error:
        raise argparse.ArgumentTypeError(describe_errors(error.errors())) from None
