"""The core's log records, as records of the standard loggers `trunkline.server.http`,
`trunkline.access` and so on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import logging

_LEVELS: Final = {"error": 40, "warn": 30, "info": 20, "debug": 10}


def logger(name: str) -> logging.Logger:
    """A logger of this package. `logging` is not imported before there is something to log."""
    from .unconfigured_log import attach

    return attach(name)


def write_logs(records: list[dict[str, Any]]) -> None:
    """Hands records over to `logging`."""
    for record in records:
        level = _LEVELS.get(record.get("level", ""), _LEVELS["info"])
        logger(record.get("target", "trunkline").replace("::", ".")).log(level, "%s", record.get("message", ""))


def wanted_level() -> str:
    """The least severe records of the core that `logging` takes now. Without a need it is not
    imported for that.
    """
    import sys

    logging = sys.modules.get("logging")
    if logging is None:
        return "info"
    names = {name for name in list(logging.root.manager.loggerDict) if name.startswith("trunkline.")}
    loggers = map(logging.getLogger, names | {"trunkline.server", "trunkline.client", "trunkline.access"})
    return "debug" if any(logger.isEnabledFor(logging.DEBUG) for logger in loggers) else "info"
