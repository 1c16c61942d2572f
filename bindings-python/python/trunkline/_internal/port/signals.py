"""Termination signals, for receivers that must end before the web server can."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Protocol, TypeAlias
from weakref import WeakSet

SignalHandler: TypeAlias = Callable[[int, FrameType | None], Any]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class SignalReceiver(Protocol):
    """An object to notify of termination signals."""

    def signalled(self, handler: SignalHandler) -> None:
        """Called on the main thread, inside a signal handler, before the program's `handler`."""


_receivers: WeakSet[SignalReceiver] = WeakSet()
if hasattr(os, "register_at_fork"):
    # A forked child has its own handlers, but not the loops of these. It adds those that it opens.
    os.register_at_fork(after_in_child=_receivers.clear)


class _Announced:
    """Wraps the program's signal handler, and calls the receivers first."""

    def __init__(self, handler: SignalHandler) -> None:
        self._handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        for receiver in list(_receivers):
            receiver.signalled(self._handler)
        return self._handler(number, frame)


def announce_signals(receiver: SignalReceiver) -> None:
    """Call the receiver, while it is alive, on signals that the program handles, but not on those
    left to Python or the system.
    """
    _receivers.add(receiver)
    if threading.current_thread() is not threading.main_thread():
        return  # handlers can only be set on the main thread
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler and not isinstance(handler, _Announced):
            signal.signal(number, _Announced(handler))
