"""One measurement: one server or client, one workload, in fresh processes."""

import json
import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from stores import MissingStore, Store, opened
from workloads import CLIENTS, CONNECTORS, LOAD, SERVERS, WORKLOADS

TIMEOUT = 300
# An error of mcpload is one line.
ENVIRONMENT = {**os.environ, "RUST_BACKTRACE": "0"}


@dataclass(frozen=True)
class Options:
    # The generator and the server have one processor each.
    pin: bool = False
    # Overrides each workload's number; 0: no override.
    calls: int = 0


def measure(work: str, server: str, explicit: dict[tuple[str, str], str], options: Options) -> dict[str, Any]:
    """The findings of mcpload, or {"error": ...}, or {"skipped": ...}.

    `explicit`: command lines by (server, transport) that take precedence.
    """
    try:
        with opened(WORKLOADS[work].store) as store:
            found = run_load(_command(work, server, explicit, options, store))
    except MissingStore as missing:
        found = {"skipped": str(missing)}
    except (OSError, RuntimeError) as error:
        found = {"error": str(error)}
    return {"w": work, "server": server, "t": round(time.time()), **found}


def run_load(command: list[str], timeout: float = TIMEOUT) -> dict[str, Any]:
    """The findings of mcpload, or an error. A run that hangs is killed with all it started."""
    process = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, env=ENVIRONMENT
    )
    try:
        out, err = process.communicate(timeout=timeout)
        return json.loads(out.splitlines()[-1]) if process.returncode == 0 else {"error": err.strip()[-400:]}
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # our own child's group
        process.communicate()
        return {"error": f"no end after {timeout:g} s"}


def _command(work: str, server: str, explicit: dict[tuple[str, str], str], options: Options, store: Store) -> list[str]:
    calls = options.calls or WORKLOADS[work].calls_of(server)
    if WORKLOADS[work].measures_clients:
        command = _client_command(work, server, str(calls))
    else:
        command = _server_command(work, server, calls, explicit, store)
    if options.pin:  # generator on CPU 0, server on CPU 1 (taskset execs, so process ids stay the same)
        at = command.index("--")
        command = ["taskset", "-c", "0", *command[: at + 1], "taskset", "-c", "1", *command[at + 1 :]]
    return command


def _client_command(work: str, client: str, calls: str) -> list[str]:
    workload = WORKLOADS[work]
    bare = shlex.split(SERVERS["bare"])
    if workload.load == "connect":
        run = [*shlex.split(CONNECTORS[client]), calls]
        return [LOAD, "client", "--name", client, "--calls", calls, "--", *run, "--", *bare, "stdio"]
    run = [*shlex.split(CLIENTS[client]), calls, workload.load.split()[1]]
    if workload.load.startswith("client-http"):
        words = ["client-http", "--name", client, "--calls", calls, "--", *bare, "http", "{port}", "--", *run, "{url}"]
    else:
        words = ["client", "--name", client, "--calls", calls, "--", *run, "--", *bare, "stdio"]
    return [LOAD, *words]


def _server_command(
    work: str, server: str, calls: int, explicit: dict[tuple[str, str], str], store: Store
) -> list[str]:
    workload = WORKLOADS[work]
    command = explicit.get((server, workload.arguments.split()[0]))
    if not command:
        before, _, after = SERVERS[server].partition(" @ ")
        command = f"{before} {workload.other_arguments.get(server, workload.arguments)} {after}"
    command = command.replace("{store}", store.url)
    options = [*(["--calls", str(calls)] if calls else []), *(["--fixed"] if server == "bare-fixed" else [])]
    options += ["--store-pid", str(store.pid)] if store.pid else []
    return [LOAD, *workload.load.split(), "--name", server, *options, "--", *shlex.split(command)]
