"""The threads that run `def` handlers. They wait for calls in native code and answer them without
an event loop.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from contextlib import suppress
from typing import Final

from ..errors import TrunklineError
from ..forked_locks import free_in_child
from .events import Events
from .turns import Turns

# Idle threads end after this time, except for the last one.
_IDLE_MS: Final = 10_000
# Handlers that wait can be many; handlers that compute compete for the processors.
_MAX_THREADS: Final = 128
# If no handler returns for this long, all of them are waiting, and more threads help.
_STALL_TIMEOUT: Final = 0.001


class Pool:
    """A pool that grows up to `limit` while all of its threads are busy; one thread always waits
    for the next call. Beyond the number that the processors can use, the pool only grows while no
    handler returns, by half at a time. Callers whose access tokens were verified take turns, and an
    eighth of the threads is left to callers who have none running.
    """

    def __init__(self, port: Events, limit: int | None) -> None:
        # Weak, because threads without work must not keep an unused port alive.
        self._port = weakref.ref(port)
        self._native = port.native
        self.limit: int = limit or _MAX_THREADS
        self._enough = min(self.limit, 32, (os.cpu_count() or 1) + 4)
        self._turns = Turns(port.native, self.limit)
        self._taken = 0
        self._has_reserve = False
        self._lock = threading.Lock()
        free_in_child(self, "_lock")
        self._threads: set[threading.Thread] = set()
        self._waiting: set[threading.Thread] = set()
        self._stopping = False

    def start(self) -> None:
        """Ensure that a thread waits for calls.

        Raises:
            RuntimeError: If the system cannot start another thread.
        """
        with self._lock:
            if not self._threads and not self._stopping:
                self._spawn()

    def stop(self) -> None:
        """End the threads once their handlers return."""
        self._stopping = True

    def join(self, timeout: float) -> None:
        """Wait for the threads that were waiting in native code. Threads inside a handler are left
        behind.
        """
        with self._lock:
            waiting = [*self._waiting]
        end = time.monotonic() + timeout
        for thread in waiting:
            thread.join(max(0, end - time.monotonic()))

    def _grow(self) -> None:
        if len(self._threads) < self._enough:
            self._spawn()
        elif len(self._threads) < self.limit and not self._has_reserve:
            threading.Thread(target=self._reserve, name="trunkline-reserve", daemon=True).start()
            self._has_reserve = True

    def _reserve(self) -> None:
        """Join the pool, and start half as many threads again, if all others are stuck in their
        handlers. Growing one by one would be slow on a busy machine.
        """
        this = threading.current_thread()
        while True:
            taken = self._taken
            time.sleep(_STALL_TIMEOUT)
            with self._lock:
                stuck = self._taken == taken
                if stuck or self._waiting or self._stopping:
                    self._has_reserve = False
                    if self._waiting or self._stopping:
                        return
                    self._threads.add(this)
                    self._waiting.add(this)
                    with suppress(RuntimeError):  # the system cannot start another thread
                        for _ in range(min(len(self._threads) // 2, self.limit - len(self._threads))):
                            self._spawn()
                    break
        self._work()

    def _spawn(self) -> None:
        # Daemons, because a handler that never returns must not keep the process alive; idle
        # threads end with their port.
        thread = threading.Thread(target=self._work, name=f"trunkline-{len(self._threads) + 1}", daemon=True)
        thread.start()
        self._threads.add(thread)
        self._waiting.add(thread)

    def _work(self) -> None:
        this = threading.current_thread()
        try:
            with suppress(TrunklineError):  # the port belongs to another process
                while not self._stopping and self._serve_next(this):
                    pass
        finally:
            with self._lock:
                self._leave(this)

    def _serve_next(self, this: threading.Thread) -> bool:
        """Wait for a call and answer it. Return True if the thread stays: one thread always waits
        for the next call, unless the limit is reached and all are busy. A separate function, so
        that nothing of the last call, whose `ctx` holds the port, stays alive while the thread
        waits.
        """
        with self._lock:
            is_ready, batch_size = self._turns.is_ready(), self._turns.batch_size()
        events = self._native.drain("pool", batch_size, 0 if is_ready else _IDLE_MS)
        with self._lock:
            call = self._turns.take(this, events)
            if call:
                self._taken += 1
                self._waiting.discard(this)
                if not self._waiting and not self._stopping:
                    with suppress(RuntimeError):  # the system cannot start another thread: this one returns
                        self._grow()
            elif not events and not is_ready and len(self._waiting) > 1:
                # Leave now, so that the next thread to check doesn't count this one as waiting.
                self._leave(this)
                return False
        if call:
            _, ticket, handle, _, name, body, cause, cause_port = call
            self._answer(ticket, handle, name, body, cause, cause_port)
            with self._lock:
                self._turns.end(this)
                self._waiting.add(this)
        return True

    def _leave(self, this: threading.Thread) -> None:
        self._turns.end(this)
        self._waiting.discard(this)
        self._threads.discard(this)

    def _answer(self, ticket: int, handle: int, name: str, body: object, cause: int, cause_port: int) -> None:
        if self._native.cancelled(ticket):
            return  # cancelled while it waited for a thread
        port = self._port()
        handler = None if port is None else port.handler(handle, name)
        if port is None or handler is None:
            self._native.fail(ticket, {"kind": "internal", "message": f"nothing is registered as {handle} {name}"})
        else:
            scope = port.scope(cause, cause_port) if cause else None
            context = port.call_context(ticket, scope, port.context.copy)
            context.run(handler.answer_in_thread, port, ticket, body, scope)
