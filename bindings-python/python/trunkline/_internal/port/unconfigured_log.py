"""Warnings and errors of this package if the program hasn't configured logging.

`logging` then writes them to stderr (`logging.lastResort`) and blocks while nothing reads it. A
client that never reads the stderr of its server would block the event loop forever, so the core
writes these records instead.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from .. import _native

_PACKAGE: Final = __name__.partition(".")[0]
# The original handler of `logging`; a program may have replaced it.
_LAST_RESORT: Final[logging.Handler | None] = getattr(logging, "_defaultLastResort", None)


class UnconfiguredHandler(logging.Handler):
    """Replaces `logging.lastResort`, with the same format and level."""

    def emit(self, record: logging.LogRecord) -> None:
        last_resort = logging.lastResort
        if last_resort is None or record.levelno < last_resort.level or is_configured(record.name):
            return
        if last_resort is not _LAST_RESORT or sys.stderr is not sys.__stderr__:
            last_resort.handle(record)  # the program has replaced one of them
            return
        try:
            _native.write_stderr(last_resort.format(record) + "\n")
        except Exception:  # noqa: BLE001 - as handlers of `logging` do
            self.handleError(record)


_HANDLER: Final = UnconfiguredHandler()


def attach(name: str) -> logging.Logger:
    """Return the logger with that name. The handler is attached to the package's logger, from which
    a logging configuration of the program may have removed it.
    """
    logging.getLogger(_PACKAGE).addHandler(_HANDLER)
    return logging.getLogger(name)


def is_configured(name: str) -> bool:
    """Return True if one of the program's handlers receives the records of a logger."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(handler is not _HANDLER for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
