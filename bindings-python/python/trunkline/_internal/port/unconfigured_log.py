"""Warnings and errors of this package in a program that has configured no logging. `logging` writes
them to stderr then (`logging.lastResort`), and stands still where nobody reads that: for the event
loop of a server that some client has started, for ever. Here the core writes them.
"""

from __future__ import annotations

import logging
import sys
from typing import Final

from .. import _native

_PACKAGE: Final = __name__.partition(".")[0]
# Of `logging` itself; a program may have put its own in the place of it.
_LAST_RESORT: Final[logging.Handler | None] = getattr(logging, "_defaultLastResort", None)


class UnconfiguredHandler(logging.Handler):
    """In the place of `logging.lastResort`, with its form and level."""

    def emit(self, record: logging.LogRecord) -> None:
        last_resort = logging.lastResort
        if last_resort is None or record.levelno < last_resort.level or is_configured(record.name):
            return
        if last_resort is not _LAST_RESORT or sys.stderr is not sys.__stderr__:
            last_resort.handle(record)  # the program has put something else in the place of either
            return
        try:
            _native.write_stderr(last_resort.format(record) + "\n")
        except Exception:  # noqa: BLE001 - as handlers of `logging` do
            self.handleError(record)


_HANDLER: Final = UnconfiguredHandler()


def attach(name: str) -> logging.Logger:
    """The logger of that name. That of the package has the handler, which a configuration of the
    program may have taken away.
    """
    logging.getLogger(_PACKAGE).addHandler(_HANDLER)
    return logging.getLogger(name)


def is_configured(name: str) -> bool:
    """True if a handler of the program gets the records of a logger."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if any(handler is not _HANDLER for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False
