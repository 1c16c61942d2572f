"""The core's log records, as records of the standard loggers `trunkline.server.http`,
`trunkline.access` and so on.
"""

from __future__ import annotations

from typing import Any, Final

_LEVELS: Final = {"error": 40, "warn": 30, "info": 20, "debug": 10}


def write_logs(records: list[dict[str, Any]]) -> None:
    """Hands records over to `logging`."""
    import logging

    for record in records:
        logger = logging.getLogger(record.get("target", "trunkline").replace("::", "."))
        logger.log(_LEVELS.get(record.get("level", ""), logging.INFO), "%s", record.get("message", ""))


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
