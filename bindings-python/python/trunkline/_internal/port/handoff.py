"""Reads pipes on the event loop, which saves the hop from another thread."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .. import _native
from ..errors import TrunklineError

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable


class ReadHandoff:
    """The pipes whose reads the core has handed to the loop. `drain` handles the events that a read
    produces.
    """

    def __init__(self, native: _native.Port) -> None:
        self._native = native
        # Handle -> descriptor, owned by this port.
        self.descriptors: dict[int, int] = {}
        # True while a call of `poll` is scheduled.
        self.is_polling = False

    def take(self, handle: int, loop: AbstractEventLoop, drain: Callable[[], None]) -> None:
        """Start reading the pipe of a handle on the loop."""
        if handle in self.descriptors or (descriptor := self._native.watch(handle)) is None:
            return
        self.descriptors[handle] = descriptor
        loop.add_reader(descriptor, self.read_ready, handle, loop, drain)

    def read_ready(self, handle: int, loop: AbstractEventLoop, drain: Callable[[], None]) -> None:
        """Read what is available in a pipe."""
        try:
            goes_on = self._native.read_ready(handle)
        except TrunklineError:
            goes_on = False
        if not goes_on:
            self._give_back(handle, loop)
        drain()

    def poll(self, loop: AbstractEventLoop, drain: Callable[[], None]) -> None:
        """Poll for the next message, and read it."""
        self.is_polling = False
        if len(self.descriptors) != 1:
            return  # with several pipes, polling one would delay the others
        (handle,) = self.descriptors
        try:
            if self._native.busy_poll(handle):
                self.read_ready(handle, loop, drain)
        except TrunklineError:
            pass  # belongs to another process

    def give_back_all(self, loop: AbstractEventLoop | None) -> None:
        """Stop reading; the core notices and reads again. `loop` is None if it is closed or belongs
        to another process.
        """
        for handle in list(self.descriptors):
            self._give_back(handle, loop)

    def _give_back(self, handle: int, loop: AbstractEventLoop | None) -> None:
        if (descriptor := self.descriptors.pop(handle, None)) is not None:
            if loop is not None:
                loop.remove_reader(descriptor)
            os.close(descriptor)
