"""The core's log records, as records of the standard logger named `trunkline`."""

from __future__ import annotations

from typing import Any, Final

_LEVELS: Final = {"error": 40, "warn": 30, "info": 20, "debug": 10}


def write_logs(records: list[dict[str, Any]]) -> None:
    """Hands records over to `logging`."""
    import logging

    logger = logging.getLogger("trunkline")
    for record in records:
        logger.log(_LEVELS.get(record.get("level", ""), logging.INFO), "%s", record.get("message", ""))
