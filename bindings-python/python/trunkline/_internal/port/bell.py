"""Bells wake the event loop when the core has events for it."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Final

from .. import _native
from ..errors import TrunklineError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from .events import Events


# A waiting thread checks whether it is still needed.
_CHECK_INTERVAL_MS: Final = 1000


class SocketBell:
    """One end of a socket pair, which the loop watches. The core writes to the other end."""

    drives_pipes = True

    def __init__(self) -> None:
        import socket

        self._socket, self._ringing = socket.socketpair()
        self._socket.setblocking(False)

    def make_port(self) -> _native.Port:
        """Return a port of the core that rings this bell."""
        with self._ringing:
            return _native.Port(self._ringing.fileno())

    def watch(self, loop: AbstractEventLoop, port: Events) -> None:
        """Let the port drain its events on `loop`, which must be running."""
        loop.add_reader(self._socket.fileno(), self._rung, port)

    def leave(self, loop: AbstractEventLoop) -> None:
        """Stop watching on the loop."""
        loop.remove_reader(self._socket.fileno())

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _rung(self, port: Events) -> None:
        try:
            self._socket.recv(64)
        except (BlockingIOError, InterruptedError):
            pass
        port.drain()


class ThreadBell:
    """A thread that waits for events, for loops that cannot watch a socket (the default loop on
    Windows). It leaves the events in the queue, so none are lost when the port moves to another
    loop.
    """

    drives_pipes = False

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._closed = False
        # Set when the loop has taken the pending events, and when the loop changes.
        self._go_on = threading.Event()

    def make_port(self) -> _native.Port:
        """Return a port of the core whose events the thread waits for."""
        return _native.Port()

    def watch(self, loop: AbstractEventLoop, port: Events) -> None:  # noqa: ARG002
        """Let the port drain its events; the port knows its loop."""
        if self._thread is None:
            # A daemon with a weak reference: it keeps neither the port nor the process alive.
            self._thread = threading.Thread(
                target=self._ring, args=(weakref.ref(port),), name="trunkline-bell", daemon=True
            )
            self._thread.start()
        self._go_on.set()

    def leave(self, loop: AbstractEventLoop) -> None:
        """Do nothing: the port has no loop now."""

    def close(self) -> None:
        """End the thread soon."""
        self._closed = True
        self._go_on.set()

    def _ring(self, port: weakref.ref[Events]) -> None:
        while not self._closed:
            if self._has_events(port) and not self._closed:
                self._go_on.clear()
                if (rung := port()) is not None:
                    rung.drain_elsewhere(self._go_on.set)
                del rung
                # Until the loop has drained the queue, the queue would only report the same events
                # again.
                while not self._go_on.wait(_CHECK_INTERVAL_MS / 1000) and port() is not None:
                    pass
            if port() is None:
                return

    def _has_events(self, port: weakref.ref[Events]) -> bool:
        if (rung := port()) is None:
            return False
        native = rung.native
        del rung
        end = time.monotonic() + _CHECK_INTERVAL_MS / 1000
        try:
            native.drain("queue", 0, _CHECK_INTERVAL_MS)
        except TrunklineError:
            self._closed = True
        return time.monotonic() < end


Bell = SocketBell | ThreadBell


def make_bell() -> Bell:
    """Return the bell that suits the system's default event loop."""
    return ThreadBell() if sys.platform == "win32" else SocketBell()
