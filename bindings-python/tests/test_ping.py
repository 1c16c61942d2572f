"""Pings in both directions: every server answers; a handler can ask its caller where the revision
has such requests.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support import REVISIONS, run, until
from trunkline import (
    Client,
    ClosedError,
    Context,
    InvalidArgumentError,
    ProtocolError,
    Server,
    SyncClient,
    SyncContext,
    TrunklineError,
)

MODERN = REVISIONS[-1]
HANDLERS = pytest.mark.parametrize("handler", ["ping", "ping_in_thread"])


class Pinging:
    """A server whose tools ping their caller, and the results."""

    def __init__(self) -> None:
        self.server = Server("pinging", version="1")
        self.outcomes: list[BaseException | None] = []
        self.kept: list[Context | SyncContext] = []
        for tool in (self.ping, self.ping_in_thread, self.keep, self.keep_in_thread):
            self.server.add_tool(tool)

    async def ping(self, ctx: Context) -> None:
        try:
            self.outcomes.append(await ctx.ping(timeout=20))
        except TrunklineError as error:
            self.outcomes.append(error)

    def ping_in_thread(self, ctx: SyncContext) -> None:
        try:
            self.outcomes.append(ctx.ping(timeout=20))
        except TrunklineError as error:
            self.outcomes.append(error)

    async def keep(self, ctx: Context) -> None:
        self.kept.append(ctx)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await self.ping(ctx)
            raise

    def keep_in_thread(self, ctx: SyncContext) -> None:
        self.kept.append(ctx)
        end = time.monotonic() + 20
        while not ctx.cancelled and time.monotonic() < end:
            time.sleep(0.005)
        self.ping_in_thread(ctx)


@asynccontextmanager
async def connected(server: Server, transport: str, revision: str) -> AsyncGenerator[Client]:
    if transport == "memory":
        async with Client(server, revision=revision) as client:
            yield client
    else:
        async with server.serve_http(port=0) as listener, Client(listener.url, revision=revision) as client:
            yield client


@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize("revision", REVISIONS)
@HANDLERS
def test_a_caller_responds_where_it_can_be_pinged(handler: str, revision: str, transport: str) -> None:
    pinging = Pinging()

    async def check() -> None:
        async with connected(pinging.server, transport, revision) as client:
            await client.ping()
            assert not (await client.call_tool(handler)).is_error

    run(check())
    (outcome,) = pinging.outcomes
    if revision < MODERN:
        assert outcome is None
    else:
        assert isinstance(outcome, ProtocolError) and outcome.code == -32601
        assert "ping" in outcome.message and MODERN in outcome.message


@pytest.mark.parametrize("handler", ["keep", "keep_in_thread"])
@pytest.mark.parametrize("transport", ["memory", "http"])
def test_a_disconnected_caller(transport: str, handler: str) -> None:
    pinging = Pinging()

    async def check() -> None:
        async with connected(pinging.server, transport, "2025-11-25") as client:
            call = asyncio.ensure_future(client.call_tool(handler))
            await until(lambda: pinging.kept, "the handler")
        with pytest.raises(TrunklineError):
            await call
        await until(lambda: pinging.outcomes, "the ping's end")

    run(check())
    assert isinstance(pinging.outcomes[0], ClosedError)


def test_a_call_that_is_answered() -> None:
    pinging, contexts = Pinging(), list[Any]()

    @pinging.server.tool
    async def leak(ctx: Context) -> None:
        contexts.append(ctx)

    @pinging.server.tool
    def leak_in_thread(ctx: SyncContext) -> None:
        contexts.append(ctx)

    async def check() -> None:
        async with Client(pinging.server, revision="2025-11-25") as client:
            await client.call_tool("leak")
            await client.call_tool("leak_in_thread")
            assert all(ctx.cancelled for ctx in contexts)
            with pytest.raises(ClosedError, match="the call has ended"):
                await contexts[0].ping()
            with pytest.raises(ClosedError, match="the call has ended"):
                contexts[1].ping()
            with pytest.raises(InvalidArgumentError, match="seconds"):
                await contexts[0].ping(timeout=-1)

    run(check())


def test_a_blocking_client_answers_while_it_waits() -> None:
    pinging = Pinging()
    with SyncClient(pinging.server, revision="2025-11-25") as client:
        client.call_tool("ping")
        client.call_tool("ping_in_thread")
    assert pinging.outcomes == [None, None]
    assert threading.active_count() < 10
