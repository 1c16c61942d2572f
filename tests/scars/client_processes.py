"""Child processes of multiprocessing next to a client: client_processes.py prints the seconds of
the slowest. A forked child gets a clear error from its parent's client, and each has its own.
"""

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from trunkline import ForkedError, Server, SyncClient

PROCESSES = 4
TIMEOUT = 30  # seconds

server = Server("parent", version="1")
parents: list[SyncClient] = []


@server.tool
def echo(message: str) -> str:
    return message


def work(number: int) -> float:
    """The seconds of a child."""
    start = time.perf_counter()
    for client in parents:
        try:
            client.call_tool("echo", {"message": "x"})
        except ForkedError:
            continue
        raise AssertionError("a child calls with its parent's client")
    with SyncClient(server) as own:
        assert own.call_tool("echo", {"message": str(number)}).text == str(number)
    return time.perf_counter() - start


def main() -> None:
    slowest = 0.0
    with SyncClient(server) as client:
        parents.append(client)
        for way in multiprocessing.get_all_start_methods():
            context = multiprocessing.get_context(way)
            with ProcessPoolExecutor(PROCESSES, mp_context=context) as executor:
                slowest = max(slowest, *executor.map(work, range(2 * PROCESSES), timeout=TIMEOUT))
            process = context.Process(target=work, args=(1,))
            process.start()
            process.join(TIMEOUT)
            assert process.exitcode == 0, (way, process.exitcode)
            assert client.call_tool("echo", {"message": way}).text == way
    print(slowest)


if __name__ == "__main__":
    sys.exit(main())
