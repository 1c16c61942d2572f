"""Which call gets a thread of the pool: callers take turns once threads become scarce."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..errors import TrunklineError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable
    from threading import Thread

    from ... import _native

# One thread of this many is left to callers who have none.
_RESERVED_SHARE: Final = 8
# The last thread takes all calls that wait, to see whose turn it is.
_BATCH_SIZE: Final = 512
# Cancelled calls are removed each time as many as that were added.
_MIN_PURGE: Final = 512

_Event: TypeAlias = tuple[int, int, int, bool, str, Any, int, int]


class _Call:
    __slots__ = ("_caller", "event", "is_known")

    def __init__(self, event: _Event) -> None:
        self.event = event
        self.is_known = False
        self._caller: Hashable = None

    def caller(self, native: _native.Port) -> Hashable:
        """The principal of an access token; None without one."""
        if not self.is_known:
            self.is_known = True
            self._caller = _principal(native, self.event[1])
        return self._caller


def _principal(native: _native.Port, ticket: int) -> Hashable:
    try:
        auth = native.describe(ticket).get("auth")
    except TrunklineError:
        return None  # the call is over, or is not one of a client
    return auth and (auth.get("principal") or (auth.get("issuer"), auth.get("subject"), auth.get("clientId")))


class Turns:
    """The calls that run, and those that wait until it is the turn of their caller. The pool's lock
    guards it. A caller is only looked up when threads are scarce.
    """

    def __init__(self, native: _native.Port, limit: int) -> None:
        self._native = native
        self._limit = limit
        self._shared = limit - limit // _RESERVED_SHARE
        self._running: dict[Thread, _Call] = {}
        # By caller, in the order of turns.
        self._waiting: dict[Hashable, deque[_Call]] = {}
        self._added = 0

    def batch_size(self) -> int:
        """How many calls to drain: one, because other threads drain the next, except for the last
        thread.
        """
        return 1 if len(self._running) + 1 < self._limit else _BATCH_SIZE

    def is_ready(self) -> bool:
        """True if a call that waits may run."""
        return bool(self._waiting) and any(True for _ in self._next_callers())

    def take(self, thread: Thread, events: Iterable[_Event]) -> _Event | None:
        """Add these calls, and return the next one for a thread to run."""
        calls = [_Call(event) for event in events]
        if len(calls) == 1 and not self._waiting and not self._are_scarce():
            self._running[thread] = calls[0]
            return calls[0].event
        for call in calls:
            self._add(call)
        for caller in self._next_callers():
            call = self._withdraw(caller)
            self._running[thread] = call
            return call.event
        return None

    def end(self, thread: Thread) -> None:
        """Forget the call that a thread has run."""
        self._running.pop(thread, None)

    def _are_scarce(self) -> bool:
        return len(self._running) >= self._shared

    def _next_callers(self) -> Iterable[Hashable]:
        busy = {call.caller(self._native) for call in self._running.values()} - {None} if self._are_scarce() else ()
        return (caller for caller in self._waiting if caller not in busy)

    def _add(self, call: _Call) -> None:
        self._waiting.setdefault(call.caller(self._native), deque()).append(call)
        self._added += 1
        if self._added >= _MIN_PURGE:
            self._purge()

    def _withdraw(self, caller: Hashable) -> _Call:
        calls = self._waiting.pop(caller)
        call = calls.popleft()
        if calls:
            self._waiting[caller] = calls
        return call

    def _purge(self) -> None:
        for caller, calls in [*self._waiting.items()]:
            left = deque(call for call in calls if not self._native.cancelled(call.event[1]))
            if left:
                self._waiting[caller] = left
            else:
                del self._waiting[caller]
        # Each call is looked at a few times at most.
        self._added = -sum(map(len, self._waiting.values()))
