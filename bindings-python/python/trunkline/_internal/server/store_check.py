"""The conformance check for custom stores."""

from __future__ import annotations

import asyncio
import os

import trunkline

from .server import Server


async def check_store(store: trunkline.Store | str | os.PathLike[str]) -> list[str]:
    """Check that a store fulfills the contract of `trunkline.Store`. Return the violations found;
    an empty list if there are none.

    The check takes a few seconds. It uses keys below `check/` and removes them afterwards. A
    store call times out after ten seconds.

    Raises:
        InvalidArgumentError: If a method is missing, or the URL is invalid.
    """
    server, loop = Server("check", version="1", store=store), asyncio.get_running_loop()
    port, handle = server._acquire(loop)
    try:
        reply = await port.answer(port.request(handle, {"method": "checkStore"}))
    finally:
        await server._release(port, loop, 0)
    return list(reply["findings"])
