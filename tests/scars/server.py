"""The server of the scars in Python: server.py stdio | http | listen | uvicorn | gunicorn"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from trunkline import AccessToken, Auth, Context, Identity, Next, Request, Server, ToolError

# The timeout of idle peers in seconds, if not the default.
IDLE_TIMEOUT = float(os.environ.get("SILENCE_MS", "60000")) / 1000

# Callbacks throw, and so does the verifier for tokens other than "good".
THROWS = "THROWS" in os.environ

# The status with which the tool `end` exits, and what lets the main function return.
EXIT_STATUS = 7
returns = asyncio.Event()

# Messages of a flood before a pause, so that it leaves some processor time to others. A steady
# flood has no pauses.
BURST = 50


@contextlib.asynccontextmanager
async def lifespan(_: Server) -> AsyncIterator[None]:
    yield


server = Server(
    "scars",
    version="1.0.0",
    lifespan=lifespan,
    store=os.environ.get("STORE"),
    state_keys=[os.environ["STATE_KEY"]] if "STATE_KEY" in os.environ else [],
    keep_alive=min(IDLE_TIMEOUT / 4, 15),
)


@server.tool
async def echo(message: str) -> str:
    return message


@server.tool(task="optional")
async def slow(ms: int, ctx: Context) -> str:
    await ctx.progress(0)
    await asyncio.sleep(ms / 1000)
    return "done"


server.tool(name="again", task="optional", restart_task=True)(slow)


@server.tool
async def block(ms: int) -> str:
    time.sleep(ms / 1000)
    return "done"


@server.tool
def work(ms: int) -> str:
    time.sleep(ms / 1000)
    return "done"


@server.tool
async def stray() -> str:
    print("a stray print")
    os.write(1, b"bytes to descriptor 1\n")
    subprocess.run(["echo", "a line of a child"], check=True)
    return "printed"


@server.tool
async def fail() -> str:
    raise ValueError("x" * 2000)


@server.tool
async def end(how: str) -> str:
    if how == "handler":
        sys.exit(EXIT_STATUS)
    if how == "main":
        returns.set()
    else:
        asyncio.get_running_loop().call_later(0.1, sys.exit, EXIT_STATUS)
    return "ends"


@server.tool
async def flood(count: int, ctx: Context, log: bool = False, steady: bool = False) -> str:
    for number in range(count):
        await (ctx.info("a message") if log else ctx.progress(number))
        if number % BURST == 0 and not steady:
            await asyncio.sleep(0.001)
    return "done"


@server.resource("scars://mood/{number}")
def mood(number: str) -> str:
    return number


@server.tool
async def touch(number: str) -> str:
    server.resource_updated(f"scars://mood/{number}")
    return "touched"


@dataclass
class Trip:
    people: int


@server.tool
async def plan(ctx: Context) -> str:
    trip = await ctx.elicit("How many go?", Trip)
    city = await ctx.sample("Where to?", max_tokens=50)
    return f"{trip.content and trip.content.people} go to {city.text}"


HALF = "half of a character: \ud83d"


@server.tool
async def halves(place: str, ctx: Context) -> str:
    if place == "error":
        raise ValueError(HALF)
    if place == "toolError":
        raise ToolError(HALF)
    if place == "progress":
        await ctx.progress(1, message=HALF)
    if place == "log":
        await ctx.info(HALF)
    if place == "question":
        await ctx.elicit(HALF, Trip)
    return HALF


async def match(**_: str) -> str:
    return "matched"


PATTERNS = {"around": {"pattern": r"(?=.*\d)[a-z]+\d"}, "back": {"pattern": r"(?=(a+))\1b"}}
server.add_tool(match, name="match", input_schema={"type": "object", "properties": PATTERNS})


def verify(token: AccessToken) -> Identity | None:
    if token.token != "good":
        raise RuntimeError("thrown by the verifier")
    return Identity("good")


auth = Auth("http://127.0.0.1/mcp", authorization_servers=["https://login.example.com"], verifier=verify)

if THROWS:

    @server.middleware("tools/call")
    async def audit(request: Request, next: Next, ctx: Context) -> object:
        if request.params["name"] == "touch":
            raise RuntimeError("thrown by middleware")
        return await next()

    @server.on_error
    def report(_error: BaseException, _ctx: object) -> None:
        raise RuntimeError("thrown by a hook")


def cities(text: str) -> list[str]:
    return [city for city in ("Oslo", "Osaka", "Rome") if city.startswith(text)]


@server.prompt(complete={"city": cities})
def packing(city: str) -> str:
    return f"What to pack for {city}?"


app = server.asgi(path="/mcp")


async def listen() -> None:
    """Listen until the program returns, which does not close the listener."""
    listener = server.serve_http(port=0)
    await listener.start()
    print(listener.url, flush=True)
    await returns.wait()


def run_mounted(way: str) -> None:
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    if way == "gunicorn":
        bound = os.dup(listening.fileno())
        os.set_inheritable(bound, True)
        os.chdir(Path(__file__).parent)
        command = [sys.executable, "-m", "gunicorn", "--worker-class", "asgi", "--bind", f"fd://{bound}", "server:app"]
        os.execv(sys.executable, command)
    import uvicorn

    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run()
    elif sys.argv[1] == "http":
        server.run_http(
            port=int(os.environ.get("PORT", "0")),
            idle_timeout=IDLE_TIMEOUT,
            write_timeout=IDLE_TIMEOUT,
            auth=auth if THROWS else None,
            on_ready=lambda one: print(one.url, flush=True),
        )
    elif sys.argv[1] == "listen":
        asyncio.run(listen())
    else:
        run_mounted(sys.argv[1])
