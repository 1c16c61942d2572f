"""The bench client in Python: client.py N INFLIGHT -- COMMAND... | client.py N INFLIGHT URL"""

import asyncio
import sys

from trunkline import Client


async def main(calls: int, in_flight: int, target: list[str] | str) -> None:
    async with Client(target, revision="2025-11-25") as client:

        async def call(i: int) -> None:
            result = await client.call_tool("echo", {"message": f"m{i}"})
            if result.text != f"m{i}":
                raise RuntimeError(f"wrong text: {result}")

        async def worker(number: int) -> None:
            for i in range(number, calls, in_flight):
                await call(i)

        for i in range(200):
            await call(i)
        print("READY", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await asyncio.gather(*[worker(number) for number in range(in_flight)])
        print("DONE", flush=True)
        await asyncio.to_thread(sys.stdin.read)


match sys.argv[1:]:
    case [calls, in_flight, "--", *command] if command:
        asyncio.run(main(int(calls), int(in_flight), command))
    case [calls, in_flight, url]:
        asyncio.run(main(int(calls), int(in_flight), url))
    case _:
        sys.exit("usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL")
