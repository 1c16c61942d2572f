"""The notifications of a server."""

import asyncio
from collections.abc import Callable
from typing import Any

TIMEOUT = 5  # seconds

CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resourceList",
    "notifications/resources/updated": "resource",
}


class Inbox:
    """Queues notifications until one is requested."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.changed = asyncio.Event()

    async def put(self, message: Any) -> None:
        """Accepts a message as passed to the SDK's message handler."""
        notification = getattr(message, "root", message)
        if hasattr(notification, "method"):
            self.kept.append(notification)
            self.changed.set()

    def clear(self) -> None:
        self.kept.clear()

    async def take(self, fits: Callable[[str], bool]) -> Any:
        """The next notification whose method fits."""
        while True:
            for notification in self.kept:
                if fits(notification.method):
                    self.kept.remove(notification)
                    return notification
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), TIMEOUT)

    async def change(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The next change that is wanted."""
        kinds = ["resource" if kind == "resources" else kind for kind in wanted]
        notification = await self.take(lambda method: CHANGES.get(method) in kinds)
        uri = getattr(notification.params, "uri", None)
        return {"change": CHANGES[notification.method], "uri": None if uri is None else str(uri)}

    async def logged(self) -> dict[str, Any]:
        """The log messages up to an error."""
        messages: list[Any] = []
        while not messages or messages[-1].level != "error":
            messages.append((await self.take(lambda method: method == "notifications/message")).params)
        return {"logged": [message.data for message in messages]}
