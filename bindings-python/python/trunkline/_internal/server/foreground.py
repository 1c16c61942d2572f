"""Serving in the foreground, with a graceful shutdown on Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any, Final

from ..listener import Listener
from ..port.unconfigured_log import is_configured

_serving: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
"""Listeners in the foreground, on any thread: a signal ends all of them."""
_before: dict[signal.Signals, Any] = {}
"""The signal handlers that ours replace."""
_forking: Final = threading.local()
"""The signal mask of a thread that is about to fork."""


async def run_until_signal(listener: Listener, on_ready: Callable[[Listener], object] | None) -> None:
    """Serve until the listener ends or a signal arrives. A second signal has its default effect."""
    signalled = asyncio.Event()
    with _signals(signalled) as are_handled:
        # The core also handles signals: it ends the process if the event loop is blocked.
        listener._ending = {"foreground": True, "signals": are_handled}
        async with listener:
            if on_ready is not None:
                on_ready(listener)
            elif listener._transport["type"] == "http" and sys.stderr and not is_configured("trunkline.server.http"):
                # To stderr, because stdout may carry the protocol; None under pythonw. If the
                # program has configured logging, it records the URL.
                print(f"trunkline: serving {listener.url}", file=sys.stderr, flush=True)
            ended = asyncio.ensure_future(listener.wait())
            waits: set[asyncio.Future[Any]] = {ended, asyncio.ensure_future(signalled.wait())}
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()
            if ended.done() and not ended.cancelled():
                ended.result()


@contextlib.contextmanager
def _signals(signalled: asyncio.Event) -> Generator[bool]:
    """Yield whether signals are handled."""
    loop = asyncio.get_running_loop()
    # Only the main thread receives signals.
    is_main = threading.current_thread() is threading.main_thread()
    _serving[signalled] = loop
    try:
        if is_main:
            _handle_signals(loop)
        yield is_main and bool(_before)
    finally:
        del _serving[signalled]
        if is_main and loop not in list(_serving.values()):
            _restore(loop)


def _handle_signals(loop: asyncio.AbstractEventLoop) -> None:
    def stop() -> None:
        _restore(loop)
        _end_at_next_signal()
        for signalled, its_loop in list(_serving.items()):
            with contextlib.suppress(RuntimeError):  # that loop has just closed
                its_loop.call_soon_threadsafe(signalled.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        handler = signal.getsignal(number)
        if handler is None:
            continue  # installed by other native code; leave it alone
        _before.setdefault(number, handler)
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda _number, _frame: loop.call_soon_threadsafe(stop))


def _end_at_next_signal() -> None:
    """Let a second SIGTERM end process 1, the main process of a container, where its default effect
    is none.
    """
    if os.getpid() == 1 and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))


def _before_fork() -> None:
    # A signal that reached the child too early would run our handler there, and wake the parent.
    _forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, [*_before]) if _before else None


def _after_fork_in_parent() -> None:
    if (mask := _forking.mask) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _after_fork_in_child() -> None:
    """Give the child the signal handlers that the process would have without a server. asyncio's
    write to a socket that the child shares with the loop of its parent.
    """
    if (mask := _forking.mask) is None:
        return
    signal.set_wakeup_fd(-1)
    for number, handler in _before.items():
        signal.signal(number, _inheritable(handler))
    _before.clear()
    _serving.clear()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _inheritable(handler: Any) -> Any:
    """Return the handler for a forked child. That of `asyncio.run` for Ctrl-C would cancel the main
    task of the parent's loop, which doesn't run in the child.
    """
    # A partial of a method of the runner.
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    of_runner = isinstance(runner, getattr(asyncio, "Runner", ()))
    return signal.default_int_handler if of_runner else handler


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def _restore(loop: asyncio.AbstractEventLoop) -> None:
    for number, handler in _before.items():
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(number)
        signal.signal(number, handler)
    _before.clear()
