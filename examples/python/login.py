"""Lists the tools of a server over HTTP that requires a login: opens the browser and stores the
tokens.
"""

import asyncio
import sys

from trunkline import Client, OAuth


async def main(url: str) -> None:
    auth = OAuth(client_name="Tool list", store="file")
    async with Client(url, auth=auth) as client:
        for tool in await client.list_tools():
            print(tool.name)


asyncio.run(main(sys.argv[1]))
