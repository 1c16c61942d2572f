"""An event loop on a background thread, for servers that no loop of the program serves."""

from __future__ import annotations

import asyncio
import os
import threading


class BackgroundLoop:
    """An event loop that runs until `stop`. Its thread is a daemon: it doesn't keep the process
    alive.
    """

    def __init__(self) -> None:
        self.pid: int = os.getpid()
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="trunkline-loop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the loop and its thread. In a forked child the thread doesn't exist, and the loop
        belongs to the parent.
        """
        if os.getpid() != self.pid:
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
