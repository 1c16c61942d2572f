"""The check of a custom store."""

from __future__ import annotations

import asyncio
import os

import trunkline

from .server import Server


async def check_store(store: trunkline.Store | str | os.PathLike[str]) -> list[str]:
    """Checks that a store keeps the contract of `trunkline.Store`: the findings; none if it does.

    It uses keys below `check/`, removes them afterwards, and takes some seconds. A call
    of the store has ten seconds.

    Raises:
        InvalidArgumentError: if it lacks a method, or the URL is wrong.
    """
    server, loop = Server("check", version="1", store=store), asyncio.get_running_loop()
    port, handle = server._acquire(loop)
    try:
        reply = await port.answer(port.request(handle, {"method": "checkStore"}))
    finally:
        await server._release(port, loop, 0)
    return list(reply["findings"])
