"""An event loop on a background thread, for servers that no loop of the program serves."""

from __future__ import annotations

import asyncio
import threading


class BackgroundLoop:
    """An event loop that runs until `stop`. Its thread is a daemon: it doesn't keep the process
    alive.
    """

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="trunkline-loop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the loop and its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
