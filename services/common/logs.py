"""Logs: one line of JSON an event on standard error, so that the process runner and a search tool can read them."""

import json
import logging
import time
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object; whatever was passed as ``extra`` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """Return ``record`` as one line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "at": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: value for key, value in vars(record).items() if key not in _STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def configure_logs(level: str = "INFO") -> None:
    """Send every logger's records at or above ``level`` to standard error as JSON lines."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("kafka").setLevel(logging.ERROR)  # a broker that is away is ours to report, once
