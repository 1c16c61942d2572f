"""A custom store: dictionaries here, a database in production."""

import asyncio
import itertools
import time
from collections.abc import Sequence

from trunkline import Server, StoredEntry, check_store


class DictStore:
    def __init__(self) -> None:
        # Maps each key to its expiry and its value or log entries.
        self.texts: dict[str, tuple[float, str]] = {}
        self.logs: dict[str, tuple[float, list[StoredEntry]]] = {}
        self.positions = itertools.count(1)

    async def get(self, key: str) -> str | None:
        ends, text = self.texts.get(key, (0.0, ""))
        return text if ends > time.monotonic() else None

    async def put(self, key: str, text: str, keep_for: float) -> None:
        self.texts[key] = (time.monotonic() + keep_for, text)

    async def put_if(self, key: str, expected: str | None, text: str, keep_for: float) -> bool:
        # Atomic because nothing is awaited in between. With a database, use a transaction.
        if await self.get(key) != expected:
            return False
        await self.put(key, text, keep_for)
        return True

    async def remove(self, key: str) -> None:
        self.texts.pop(key, None)
        self.logs.pop(key, None)

    async def append(self, log: str, entry: str, max_entries: int, keep_for: float) -> int:
        position = next(self.positions)
        entries = [*self.entries(log), StoredEntry(position, entry)]
        self.logs[log] = (time.monotonic() + keep_for, entries[-max_entries:])
        return position

    async def read(self, log: str, after: int, limit: int, wait: float) -> Sequence[StoredEntry]:
        # A read need not wait for entries.
        return [entry for entry in self.entries(log) if entry.position > after][:limit]

    def entries(self, log: str) -> list[StoredEntry]:
        ends, entries = self.logs.get(log, (0.0, []))
        return entries if ends > time.monotonic() else []


server = Server("reports", version="1.0.0", store=DictStore())

print("\n".join(asyncio.run(check_store(DictStore()))) or "The store keeps its contract.")
