"""Table rows as resources: listed page by page and read on request."""

import asyncio
from collections.abc import Mapping
from typing import Any

from trunkline import Client, Context, Server

ROWS = {f"row {number}": f"value {number}" for number in range(1, 6)}
PAGE = 2

server = Server("table", version="1.0.0")


@server.provider("resources")
class Rows:
    async def list(self, cursor: str | None, ctx: Context) -> tuple[list[dict[str, str]], str | None]:
        start = int(cursor or 0)
        names = list(ROWS)[start : start + PAGE]
        more = start + PAGE < len(ROWS)
        return [{"uri": f"rows://{name[4:]}", "name": name} for name in names], str(start + PAGE) if more else None

    async def get(self, params: Mapping[str, Any], ctx: Context) -> str | None:
        return ROWS.get(f"row {params['uri'].removeprefix('rows://')}")


async def main() -> None:
    async with Client(server) as client:
        print(", ".join([resource.name for resource in await client.list_resources()]))
        print((await client.read_resource("rows://4")).contents[0].text)


asyncio.run(main())
