"""Locks in a forked child. In the parent, a thread may hold them that the child doesn't have."""

from __future__ import annotations

import os
import threading
from typing import Final
from weakref import WeakKeyDictionary

_holders: Final[WeakKeyDictionary[object, tuple[str, ...]]] = WeakKeyDictionary()
_RE_ENTRANT: Final = type(threading.RLock())


def free_in_child(holder: object, *names: str) -> None:
    """Replace the locks with these names in a forked child if another thread holds them."""
    _holders[holder] = names


def _free() -> None:
    for holder, names in [*_holders.items()]:
        for name in names:
            lock = getattr(holder, name)
            if lock.acquire(blocking=False):
                lock.release()
            else:
                setattr(holder, name, threading.RLock() if isinstance(lock, _RE_ENTRANT) else threading.Lock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free)
