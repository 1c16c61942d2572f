"""The events of an HTTP server, for clients that resume a stream."""

from typing import Any


def store(base: type, event: type) -> Any:
    """An event store in memory. `base` is the interface of the SDK, and `event` the form in which
    it sends events.
    """

    class Events(base):
        def __init__(self) -> None:
            self.events: list[tuple[str, Any]] = []

        async def store_event(self, stream_id: str, message: Any) -> str:
            self.events.append((stream_id, message))
            return str(len(self.events))

        async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
            start = int(last_event_id)
            stream_id = self.events[start - 1][0]
            for index, (stream, message) in enumerate(self.events[start:], start + 1):
                if stream == stream_id and message is not None:
                    await send_callback(event(message, str(index)))
            return stream_id

    return Events()
