"""Processes that handlers and clients start: `multiprocessing` with its default start method,
`os.fork` and `subprocess`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support import TIMEOUT, environment, finish, script
from trunkline import SyncClient

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# Ways in which programs use processes. Each returns None, or a text that says what went wrong.
WAYS = """
import asyncio, contextlib, multiprocessing, os, signal, subprocess, sys, threading, time
from concurrent.futures import ProcessPoolExecutor

def double(number):
    return 2 * number

def sleep():
    time.sleep(60)

def tell_and_sleep(begun):
    # By one system call: an interrupt in multiprocessing.Event.set is sometimes lost.
    os.write(begun.fileno(), b"1")
    # One that comes just before a sleep is only raised after it.
    for _ in range(6000):
        time.sleep(0.01)

def ended(process, status):
    process.join(30)
    if process.exitcode is None:
        process.kill()
    return None if process.exitcode == status else f"the exit code is {process.exitcode}"

def started(target, *arguments):
    process = multiprocessing.Process(target=target, args=arguments)
    process.start()
    return process

def begun_process():
    heard, begun = multiprocessing.Pipe(duplex=False)
    process = started(tell_and_sleep, begun)
    assert heard.poll(30), "it does not begin"
    return process

def process():
    return ended(started(os.getpid), 0)

def terminated_at_once():
    process = started(sleep)
    process.terminate()
    return ended(process, -signal.SIGTERM)

def terminated():
    process = begun_process()
    process.terminate()
    return ended(process, -signal.SIGTERM)

def interrupted():
    process = begun_process()
    os.kill(process.pid, signal.SIGINT)
    return ended(process, 1)

def pool():
    with multiprocessing.Pool(2) as pool:
        doubled = pool.map_async(double, range(4)).get(30)
    return None if doubled == [0, 2, 4, 6] else f"the pool returned {doubled}"

def executor():
    with ProcessPoolExecutor(2) as executor:
        doubled = [*executor.map(double, range(4), timeout=30)]
    return None if doubled == [0, 2, 4, 6] else f"the executor returned {doubled}"

def reaped(pid, status):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        reaped, raw = os.waitpid(pid, os.WNOHANG)
        if reaped:
            code = os.waitstatus_to_exitcode(raw)
            return None if code == status else f"the exit code is {code}"
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "the child does not end"

def forked():
    if (pid := os.fork()) == 0:
        os._exit(7)
    return reaped(pid, 7)

def forked_and_killed():
    if (pid := os.fork()) == 0:
        time.sleep(60)
        os._exit(7)
    os.kill(pid, signal.SIGTERM)
    return reaped(pid, -signal.SIGTERM)

def with_a_loop_of_its_own():
    if (pid := os.fork()) == 0:
        async def work():
            told = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(told.wait(), 30)
        code = 9
        with contextlib.suppress(BaseException):
            asyncio.run(work())
            code = 7
        os._exit(code)
    return reaped(pid, 7)

def before_exec():
    command = [sys.executable, "-c", "import signal; assert signal.pthread_sigmask(0, ()) == set()"]
    return None if subprocess.run(command, preexec_fn=os.getpid, timeout=60).returncode == 0 else "it failed"

def null_as_stdin():
    command = [sys.executable, "-c", "import sys; assert sys.stdin.read() == ''"]
    return None if subprocess.run(command, timeout=60).returncode == 0 else "it failed"

ALL = [
    process, terminated_at_once, terminated, interrupted, pool, executor, forked, forked_and_killed,
    with_a_loop_of_its_own, before_exec, null_as_stdin,
]

def all_ways():
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    failed = []
    for way in ALL:
        for _ in range(2):
            try:
                wrong = way()
            except Exception as error:
                wrong = repr(error)
            if wrong:
                failed.append(f"{way.__name__}: {wrong}")
                break
    if signal.pthread_sigmask(signal.SIG_BLOCK, ()) != mask:
        failed.append("the signal mask has changed")
    return failed
"""

SERVER = """
from trunkline import Context, Server

opened = []

@contextlib.asynccontextmanager
async def lifespan(server):
    if "lifespan" in sys.argv:
        opened.extend(all_ways())
    yield

server = Server("processes", version="1", lifespan=lifespan)

@server.tool
def thread() -> list[str]:
    return all_ways()

@server.tool
async def loop() -> list[str]:
    return all_ways()

@server.tool
async def lifespan_before() -> list[str]:
    return opened

@server.tool
async def ask(ctx: Context) -> str:
    return (await ctx.elicit("Go on?", {"type": "object", "properties": {}})).action

if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.run_http(port=0, on_ready=lambda listener: print(listener.url, flush=True))
    else:
        server.run()
"""

CLIENT = """
from trunkline import Client, ElicitResult, SyncClient

target = sys.argv[2] if sys.argv[1] == "http" else [sys.executable, sys.argv[2], "stdio"]
options = {"inherit_env": True, "timeout": 60} if sys.argv[1] == "stdio" else {"timeout": 60}
failed = []

def ask(request):
    failed.extend(all_ways())
    return ElicitResult("accept", {})

async def ask_on_loop(request):
    return ask(request)

def blocking():
    with SyncClient(target, **options) as client:
        client.on_elicit(ask)
        client.list_tools()
        failed.extend(all_ways())
        assert client.call_tool("ask").text == "accept"

async def on_loop():
    client = Client(target, **options)
    client.on_elicit(ask_on_loop)
    async with client:
        await client.list_tools()
        failed.extend(all_ways())
        assert (await client.call_tool("ask")).text == "accept"

if __name__ == "__main__":
    if sys.argv[3] == "blocking":
        blocking()
    else:
        ALL.remove(interrupted)  # a child inherits the handler of `asyncio.run`
        asyncio.run(on_loop())
    print(failed, flush=True)
"""

QUIET = "-W", "ignore::DeprecationWarning"  # of a fork with threads, since 3.12


@contextmanager
def http_server(program: str, *arguments: str) -> Generator[str]:
    """The URL of a server in a process, which must end well after SIGTERM."""
    command = [sys.executable, *QUIET, program, "http", *arguments]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("place", ["thread", "loop", "lifespan"])
def test_a_handler_can_start_processes(tmp_path: Path, place: str, transport: str) -> None:
    tool = "lifespan_before" if place == "lifespan" else place
    (_, program) = script(tmp_path, WAYS + SERVER)
    if transport == "http":
        with http_server(program, place) as url, SyncClient(url, timeout=60) as client:
            assert client.call_tool(tool).structured_content == {"result": []}
            assert client.call_tool(tool).is_error is False
    else:
        command = [sys.executable, *QUIET, program, "stdio", place]
        with SyncClient(command, env=environment(), timeout=60, reconnect=False, close_timeout=60) as client:
            assert client.call_tool(tool).structured_content == {"result": []}
            begun = time.monotonic()
        assert time.monotonic() - begun < 30, "the server did not end by itself"


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("kind", ["blocking", "on_loop"])
def test_a_program_with_a_client_can_start_processes(tmp_path: Path, kind: str, transport: str) -> None:
    (_, server) = script(tmp_path, WAYS + SERVER, "server.py")
    (_, program) = script(tmp_path, WAYS + CLIENT)
    command = [sys.executable, *QUIET, program, transport]
    if transport == "http":
        with http_server(server) as url:
            done = finish([*command, url, kind])
    else:
        done = finish([*command, server, kind])
    assert (done.returncode, done.stdout) == (0, "[]\n"), done


HELD_LOCKS = """
import os, sys, threading, time
from trunkline import ForkedError, Server, SyncClient

server = Server("held", version="1")

@server.tool
def hello() -> str:
    return "hello"

client = SyncClient(server)
client.connect()
held = threading.Barrier(2)

def hold():
    with server._lock, server._bind()._lock, server._bind().pool._lock, client._state, client._draining:
        held.wait(10)
        over.wait(10)

over = threading.Event()
threading.Thread(target=hold).start()
held.wait(10)
if (pid := os.fork()) == 0:
    try:
        client.call_tool("hello")
    except ForkedError:
        client.close()
        with SyncClient(server) as own:
            print(own.call_tool("hello").text, flush=True)
    os._exit(0)
end = time.monotonic() + 10
while os.waitpid(pid, os.WNOHANG) == (0, 0):
    if time.monotonic() > end:
        os.kill(pid, 9)
    time.sleep(0.01)
over.set()
print(client.call_tool("hello").text, flush=True)
client.close()
"""


def test_a_forked_child_does_not_wait_for_locks_of_threads_that_it_does_not_have(tmp_path: Path) -> None:
    (_, program) = script(tmp_path, HELD_LOCKS)
    done = finish([sys.executable, *QUIET, program])
    assert (done.returncode, done.stdout) == (0, "hello\nhello\n"), done


ANNOUNCED = """
import os, signal, time
from trunkline._internal.port.signals import announce_signals

class Receiver:
    def signalled(self, handler):
        os.write(1, b"told\\n")

signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"handled\\n"))
receiver = Receiver()
announce_signals(receiver)
if (pid := os.fork()) == 0:
    os.kill(os.getpid(), signal.SIGTERM)
    os._exit(0)
os.waitpid(pid, 0)
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_a_signal_of_a_forked_child_does_not_close_the_applications_of_its_parent(tmp_path: Path) -> None:
    (_, program) = script(tmp_path, ANNOUNCED)
    done = finish([sys.executable, *QUIET, program])
    assert (done.returncode, done.stdout) == (0, "handled\ntold\nhandled\n"), done


CLOSED = """
import os, subprocess, sys
from trunkline import Client, Server, SyncClient

server = Server("closed", version="1")

@server.tool
def child() -> int:
    return subprocess.run([sys.executable, "-c", "import os; [os.fstat(number) for number in range(3)]"]).returncode

if sys.argv[1] == "stdio":
    server.run()
elif sys.argv[1] == "http":
    async def serve():
        async with server.serve_http(port=0) as listener, Client(listener.url) as client:
            assert (await client.call_tool("child")).text == "0"
    import asyncio
    asyncio.run(serve())
else:
    with SyncClient(server) as client:
        assert client.call_tool("child").text == "0"
with open(sys.argv[2], "w") as over:
    over.write("over")
"""


@pytest.mark.parametrize("kind", ["stdio", "http", "memory"])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_program_whose_standard_streams_are_closed_serves_and_ends(tmp_path: Path, closed: str, kind: str) -> None:
    over = tmp_path / "over"
    (_, program) = script(tmp_path, CLOSED)
    done = finish(["sh", "-c", f'exec "$0" "$@" {closed}', sys.executable, program, kind, str(over)])
    assert (done.returncode, over.is_file() and over.read_text()) == (0, "over"), done
