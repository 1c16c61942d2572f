"""Agent skills."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from .base import Handler


class SkillHandler(Handler):
    """Stands for a skill among the registered things; the core answers for it, so it is never called."""

    __slots__ = ()

    kind = "skill"

    def __init__(self, key: Hashable, registration: dict[str, Any]) -> None:
        super().__init__(key, registration, in_thread=False)
