"""Serving in the foreground, with a graceful shutdown on Ctrl-C and SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Coroutine, Generator
from typing import Any, Final

_serving: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
"""Listeners in the foreground, on any thread: a signal ends all of them."""
_before: dict[signal.Signals, Any] = {}
"""The signal handlers that ours replace."""
_forking: Final = threading.local()
"""The signal mask of a thread that is about to fork."""


@contextlib.contextmanager
def ending_signals() -> Generator[tuple[asyncio.Event, bool]]:
    """Yield an event that the first signal sets, and whether signals are handled. A second signal
    has its default effect.
    """
    signalled = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Only the main thread receives signals.
    is_main = threading.current_thread() is threading.main_thread()
    _serving[signalled] = loop
    try:
        if is_main:
            _handle_signals(loop)
        yield signalled, is_main and bool(_before)
    finally:
        del _serving[signalled]
        if is_main and loop not in list(_serving.values()):
            _restore(loop)


async def until(signalled: asyncio.Event, end: Coroutine[Any, Any, None]) -> None:
    """Wait for the end or the signal, whichever is first. Raises what the end raises."""
    ended = asyncio.ensure_future(end)
    waits: set[asyncio.Future[Any]] = {ended, asyncio.ensure_future(signalled.wait())}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waits:
            one.cancel()
    if ended.done() and not ended.cancelled():
        ended.result()


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
