"""Signals that end the process, for what has to end before a web server can."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Protocol
from weakref import WeakSet

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class SignalReceiver(Protocol):
    """A thing that learns of the end."""

    def signalled(self) -> None:
        """Called on the main thread, inside of a signal handler."""
        ...


_receivers: WeakSet[SignalReceiver] = WeakSet()


class _Announced:
    """The handler of the program, before which the receivers are called."""

    def __init__(self, handler: Callable[[int, FrameType | None], Any]) -> None:
        self._handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        for receiver in list(_receivers):
            receiver.signalled()
        return self._handler(number, frame)


def announce_signals(receiver: SignalReceiver) -> None:
    """Calls the receiver, as long as it lives, at signals that the program handles, and not at
    those that it leaves to Python or the system.
    """
    _receivers.add(receiver)
    if threading.current_thread() is not threading.main_thread():
        return  # elsewhere handlers cannot be set
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler and not isinstance(handler, _Announced):
            signal.signal(number, _Announced(handler))
