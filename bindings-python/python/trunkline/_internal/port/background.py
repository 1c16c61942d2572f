"""An event loop on a thread of its own, for servers that are used while no loop of the program
serves them.
"""

from __future__ import annotations

import asyncio
import os
import threading


class BackgroundLoop:
    """Runs until `stop`. The thread is a daemon: it does not keep the process."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="trunkline-loop", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the loop and its thread. In a forked child there is no such thread, and the loop is
        the parent's.
        """
        if os.getpid() != self.pid:
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
