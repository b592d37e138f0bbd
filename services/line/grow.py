"""The command ``coincide grow``: its options, which ``coincide --help`` reads without what growing needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from services.line.command import DEFAULT_FOLDER, needing_extra


def add(commands: Any) -> argparse.ArgumentParser:
    """Add the command to those of a parser, and return its own parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "grow",
        help="carry a line in one process over into Kafka and Spark, or back",
        description="Carry a line in one process over into Kafka and Spark.",
    )
    parser.add_argument("--folder", type=Path, default=DEFAULT_FOLDER, help="of the line (default: %(default)s)")
    parser.add_argument("--config", type=Path, help="folder with the files of settings")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="brokers (default: those of config/kafka.yaml)")
    checkpoint = Path(".local/checkpoint")
    parser.add_argument("--checkpoint", type=Path, default=checkpoint, help="of fusion, to be made (%(default)s)")
    parser.add_argument("--database", type=Path, help="alerting's database (default: that of its settings)")
    parser.add_argument("--back", action="store_true", help="carry a system on Kafka over into the folder instead")
    return parser


def run(options: argparse.Namespace) -> int:
    """Carry it over; return the exit status."""
    status: int = needing_extra("grow", "services.line.growing.growth").carry(options)
    return status
