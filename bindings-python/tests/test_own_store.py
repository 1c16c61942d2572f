"""Custom stores."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from support import TIMEOUT, run
from trunkline import BusyError, Client, InvalidArgumentError, Server, Store, StoredEntry, StoreError, check_store


class Kept:
    """A store with `def` methods, which pool threads call."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.texts: dict[str, tuple[float, str]] = {}
        self.logs: dict[str, tuple[float, list[StoredEntry]]] = {}
        self.positions = itertools.count(1)

    def get(self, key: str) -> str | None:
        ends, text = self.texts.get(key, (0.0, ""))
        return text if ends > time.monotonic() else None

    def put(self, key: str, text: str, keep_for: float) -> None:
        self.texts[key] = (time.monotonic() + keep_for, text)

    def put_if(self, key: str, expected: str | None, text: str, keep_for: float) -> bool:
        with self.lock:
            is_expected = self.get(key) == expected
            if is_expected:
                self.put(key, text, keep_for)
            return is_expected

    def remove(self, key: str) -> None:
        self.texts.pop(key, None)
        self.logs.pop(key, None)

    def append(self, log: str, entry: str, max_entries: int, keep_for: float) -> int:
        with self.lock:
            position = next(self.positions)
            entries = [*self.entries(log), StoredEntry(position, entry)]
            self.logs[log] = (time.monotonic() + keep_for, entries[-max_entries:])
            return position

    def read(self, log: str, after: int, limit: int, wait: float) -> Sequence[StoredEntry]:
        return [entry for entry in self.entries(log) if entry.position > after][:limit]

    def entries(self, log: str) -> list[StoredEntry]:
        ends, entries = self.logs.get(log, (0.0, []))
        return entries if ends > time.monotonic() else []


class Awaited:
    """The same with `async def` methods, and a failure on demand."""

    def __init__(self) -> None:
        self.kept = Kept()
        self.fault: Any = None
        self.cancelled = 0

    async def _faulty(self) -> None:
        await asyncio.sleep(0)
        if self.fault == "silence":
            try:
                await asyncio.sleep(TIMEOUT)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if isinstance(self.fault, BaseException):
            raise self.fault

    async def get(self, key: str) -> str | None:
        await self._faulty()
        return self.kept.get(key)

    async def put(self, key: str, text: str, keep_for: float) -> None:
        await self._faulty()
        self.kept.put(key, text, keep_for)

    async def put_if(self, key: str, expected: str | None, text: str, keep_for: float) -> bool:
        await self._faulty()
        nonsense: Any = "nonsense"
        return nonsense if self.fault == nonsense else self.kept.put_if(key, expected, text, keep_for)

    async def remove(self, key: str) -> None:
        await self._faulty()
        self.kept.remove(key)

    async def append(self, log: str, entry: str, max_entries: int, keep_for: float) -> int:
        await self._faulty()
        return self.kept.append(log, entry, max_entries, keep_for)

    async def read(self, log: str, after: int, limit: int, wait: float) -> Sequence[StoredEntry]:
        await self._faulty()
        return self.kept.read(log, after, limit, wait)


@pytest.mark.parametrize("make", [Kept, Awaited])
def test_a_custom_store_fulfils_the_contract(make: Any) -> None:
    store = make()
    assert run(check_store(store)) == []
    kept = store if make is Kept else store.kept
    assert not kept.texts and not kept.logs, "the check removes what it has left"


def test_the_check_names_the_violations() -> None:
    class Forgetful(Kept):
        def put_if(self, key: str, expected: str | None, text: str, keep_for: float) -> bool:
            self.put(key, text, keep_for)
            return True

        def append(self, log: str, entry: str, max_entries: int, keep_for: float) -> int:
            raise LookupError("no table of logs")

    findings = run(check_store(Forgetful()))
    assert any(finding.startswith("conditions: put_if with an empty text") for finding in findings), findings
    logs = [finding for finding in findings if finding.startswith("logs: ")]
    assert "LookupError: no table of logs" in logs[0], findings
    assert run(check_store("memory:")) == []


def test_an_object_that_lacks_methods_is_refused() -> None:
    class Half:
        def get(self, key: str) -> None: ...

    with pytest.raises(InvalidArgumentError, match=r"Half lacks put, put_if, remove, append, read"):
        Server("reports", version="1", store=Half())  # type: ignore[arg-type]


def reports(store: Store, **options: Any) -> Server:
    server = Server("reports", version="1", store=store, task_poll_interval=0.02, **options)

    @server.tool(task="optional")
    async def report() -> str:
        return "the report"

    @server.tool
    async def echo(text: str) -> str:
        return text

    return server


@pytest.mark.parametrize("make", [Kept, Awaited])
def test_tasks_in_a_custom_store_outlive_the_server(make: Any) -> None:
    store = make()

    async def main() -> str:
        async with Client(reports(store)) as client:
            task = await client.start_task("report")
            await task.result()
        async with Client(reports(store)) as client:
            again = await client.resume_task(task.id or "")
            return (await again.result()).text

    assert run(main()) == "the report"


FAULTS = [
    (OSError("the database is gone"), "OSError: the database is gone"),
    (StoreError("no space left", "full"), "no space left"),
    ("nonsense", "invalid return value of store_put_if: done: must be true or false, not"),
    ("silence", "it did not answer within 1s"),
]


@pytest.mark.parametrize(("fault", "reason"), FAULTS, ids=["away", "full", "nonsense", "silent"])
def test_a_store_failure_is_a_typed_error_and_other_calls_continue(
    fault: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = Awaited()

    async def main() -> None:
        async with Client(reports(store, store_deadline=1)) as client:
            store.fault = fault
            with pytest.raises(BusyError, match="the store of tasks is not available"):
                await client.start_task("report")
            assert (await client.call_tool("echo", {"text": "hi"})).text == "hi"
            store.fault = None
            end = time.monotonic() + TIMEOUT
            while True:  # a store that has failed is left alone for a while
                try:
                    task = await client.start_task("report")
                    break
                except BusyError:
                    assert time.monotonic() < end
                    await asyncio.sleep(0.05)
            assert (await task.result()).text == "the report"

    run(main())
    assert (fault == "silence") == (store.cancelled > 0)
    if not isinstance(fault, StoreError):
        assert reason in caplog.text
