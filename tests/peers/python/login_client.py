"""Logs in with our client in Python. Reads a line of JSON for each login, with the URL of a server
and the options of `auth`, and prints one with the URL of the login page, and one with the result.
"""

import asyncio
import json
import re
import sys
import threading
from typing import Any

from trunkline import AuthorizeRequest, Client, OAuth, TrunklineError


class Lines:
    """The lines of standard input: logins, and replies of the browser."""

    def __init__(self) -> None:
        self.logins: asyncio.Queue[Any] = asyncio.Queue()
        self.replies: asyncio.Queue[Any] = asyncio.Queue()
        threading.Thread(target=self._read, args=[asyncio.get_running_loop()], daemon=True).start()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        for text in sys.stdin:
            line = json.loads(text)
            queue = self.logins if "url" in line else self.replies
            loop.call_soon_threadsafe(queue.put_nowait, line)
        loop.call_soon_threadsafe(self.logins.put_nowait, None)


def write(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def options(auth: dict[str, Any]) -> OAuth:
    """The options of the core, under the names of Python."""
    return OAuth(**{re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name): auth[name] for name in auth})


async def log_in(lines: Lines, url: str, auth: dict[str, Any], tool: str, calls: int) -> dict[str, Any]:
    # A reply that comes after the end of its login is not waited for.
    lines.replies = asyncio.Queue()
    client = Client(url, auth=options(auth))

    @client.on_open_url
    async def open_url(request: AuthorizeRequest) -> None:
        """The browser, which replies when it has left the login page."""
        write({"open": request.url})
        failed = (await lines.replies.get()).get("failed")
        if failed:
            raise RuntimeError(failed)

    assert callable(open_url)
    async with client:
        return {"texts": [(await client.call_tool(tool, {})).text for _ in range(calls)]}


async def main() -> None:
    lines = Lines()
    while login := await lines.logins.get():
        try:
            write(await log_in(lines, **login))
        except TrunklineError as error:
            write({"error": error.kind, "message": error.message})


asyncio.run(main())
