"""A task that outlives its server: the next one finds the result in the same file."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from trunkline import Client, Server


def reports(file: Path) -> Server:
    server = Server("reports", version="1.0.0", store=f"sqlite:{file}")

    @server.tool(task="optional")
    def report(year: int) -> str:
        """Write the report of a year."""
        return f"The report of {year}"

    return server


async def main() -> None:
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file = Path(folder, "state.db")
        async with Client(reports(file)) as client:
            task = await client.start_task("report", {"year": 2026})
            await task.result()
        async with Client(reports(file)) as client:
            again = await client.resume_task(task.id)
            print((await again.result()).text)


asyncio.run(main())
