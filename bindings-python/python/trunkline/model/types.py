"""Strings of few values."""

from __future__ import annotations

from typing import Literal, TypeAlias

TaskSupport: TypeAlias = Literal["forbidden", "optional", "required"]
# The levels of messages to clients (RFC 5424).
LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
