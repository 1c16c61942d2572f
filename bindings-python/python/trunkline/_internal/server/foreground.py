"""Serving in the foreground, with a graceful shutdown on Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

from ..listener import Listener


async def run_until_signal(listener: Listener, on_ready: Callable[[Listener], object] | None) -> None:
    """Serve until the listener ends or a signal arrives. A second signal has its default effect."""
    signalled = asyncio.Event()
    with _signals(signalled.set) as are_handled:
        listener._shares_signals = are_handled
        async with listener:
            if on_ready is not None:
                on_ready(listener)
            elif listener._transport["type"] == "http" and not _is_logged():
                _say(f"serving {listener.url}")
            ended = asyncio.ensure_future(listener.wait())
            waits: set[asyncio.Future[Any]] = {ended, asyncio.ensure_future(signalled.wait())}
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()
            if ended.done() and not ended.cancelled():
                ended.result()


def _is_logged() -> bool:
    """Return True if the program has configured logging, which then records the URL."""
    from ..port.unconfigured_log import is_configured

    return is_configured("trunkline.server.http")


def _say(text: str) -> None:
    """Print a line for the user of `run`. Goes to stderr, because stdout may carry the protocol."""
    if sys.stderr is not None:  # None under pythonw
        print(f"trunkline: {text}", file=sys.stderr, flush=True)


def _threadsafe(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    def handle(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    return handle


@contextlib.contextmanager
def _signals(on_signal: Callable[[], None]) -> Generator[bool]:
    """Yield whether signals are handled."""
    if threading.current_thread() is not threading.main_thread():
        yield False  # only the main thread receives signals
        return
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}

    def restore() -> None:
        for number, handler in before.items():
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, handler)
        before.clear()

    def stop() -> None:
        restore()
        on_signal()

    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if handler is None:
            continue  # installed by other native code; leave it alone
        before[number] = handler
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            signal.signal(number, _threadsafe(loop, stop))
    try:
        yield bool(before)
    finally:
        restore()
