"""Passes the core's log records to standard loggers, such as `trunkline.server.http` and
`trunkline.access`, with their fields as attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import logging

_LEVELS: Final = {"error": 40, "warn": 30, "info": 20, "debug": 10}


def logger(name: str) -> logging.Logger:
    """Return a logger of this package. Imports `logging` only once there is something to log."""
    from .unconfigured_log import attach

    return attach(name)


def write_logs(records: list[dict[str, Any]]) -> None:
    """Pass records to `logging`."""
    for record in records:
        level = _LEVELS.get(record.get("level", ""), _LEVELS["info"])
        log = logger(record.get("target", "trunkline").replace("::", "."))
        log.log(level, "%s", record.get("message", ""), extra=_attributes(record.get("fields", {})))


def _attributes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields under names that `logging` allows: its own are reserved."""
    import logging

    own = {*vars(logging.makeLogRecord({})), "message", "asctime"}
    return {f"{name}_" if name in own else name: value for name, value in fields.items()}


def wanted_level() -> str:
    """Return the lowest level of the core's records that `logging` accepts now, without importing
    `logging` if the program hasn't.
    """
    import sys

    if (logging := sys.modules.get("logging")) is None:
        return "info"
    names = {name for name in list(logging.root.manager.loggerDict) if name.startswith("trunkline.")}
    loggers = map(logging.getLogger, names | {"trunkline.server", "trunkline.client", "trunkline.access"})
    return "debug" if any(logger.isEnabledFor(logging.DEBUG) for logger in loggers) else "info"
