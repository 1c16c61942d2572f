"""The bench client in Python: client.py N INFLIGHT -- COMMAND... | client.py N INFLIGHT URL

With INFLIGHT `resource`, it reads a resource N times.
"""

import asyncio
import sys

from trunkline import Client

BLOB_LENGTH = 16 * 1024 * 1024  # characters of base64 in the resource


async def main(calls: int, in_flight: str, target: list[str] | str) -> None:
    async with Client(target, revision="2025-11-25") as client:

        async def call(i: int) -> None:
            result = await client.call_tool("echo", {"message": f"m{i}"})
            if result.text != f"m{i}":
                raise RuntimeError(f"wrong text: {result}")

        async def worker(number: int) -> None:
            for i in range(number, calls, int(in_flight)):
                await call(i)

        async def read() -> None:
            for _ in range(calls):
                result = await client.read_resource("bench:blob")
                if len(result.contents[0].blob or "") != BLOB_LENGTH:
                    raise RuntimeError("wrong contents")

        reads = in_flight == "resource"
        for i in range(0 if reads else 200):
            await call(i)
        print("READY", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await (read() if reads else asyncio.gather(*[worker(number) for number in range(int(in_flight))]))
        print("DONE", flush=True)
        await asyncio.to_thread(sys.stdin.read)


match sys.argv[1:]:
    case [calls, in_flight, "--", *command] if command:
        asyncio.run(main(int(calls), in_flight, command))
    case [calls, in_flight, url]:
        asyncio.run(main(int(calls), in_flight, url))
    case _:
        sys.exit("usage: client N INFLIGHT -- COMMAND... | client N INFLIGHT URL")
