"""Tools that run as tasks: at the client's request on 2025-11-25, through the extension on
2026-07-28.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from raw import MODERN, Peer, Refused
from support import REVISIONS, TIMEOUT, script
from trunkline import InvalidArgumentError, Server

TASKS = """
import asyncio, time
from trunkline import Context, InputRequired, ProtocolError, Server, SyncContext, ToolError, elicit

server = Server("tasks", version="1", task_ttl=90, task_poll_interval=0.05, max_tasks=3)
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
steps = []

@server.tool(task="optional")
async def slow(ctx: Context) -> str:
    await ctx.set_task_message("half of it is done")
    await asyncio.sleep(0.1)
    return "done"

@server.tool(task="optional")
def slow_in_thread(ctx: SyncContext) -> str:
    ctx.set_task_message("half of it is done")
    time.sleep(0.1)
    return "done"

@server.tool(task="required")
async def endless() -> str:
    steps.append("begun 1")
    try:
        await asyncio.sleep(60)
    finally:
        steps.append("stopped 1")

@server.tool(task="required")
def endless_in_thread(ctx: SyncContext) -> str:
    steps.append("begun 2")
    while not ctx.cancelled:
        time.sleep(0.01)
    steps.append("stopped 2")

@server.tool(task="forbidden")
def all_steps() -> str:
    return f"{steps}"

@server.tool(task="optional")
def fails() -> str:
    raise ToolError("it failed")

@server.tool(task="optional")
async def breaks() -> str:
    raise ProtocolError("it broke", -32000, {"a": 1})

@server.tool(task="optional")
async def asks(ctx: Context) -> str:
    return f"Hello, {(await ctx.elicit('Who?', NAME, key='who')).content['name']}"

@server.tool(task="optional")
def asks_in_thread(ctx: SyncContext) -> str:
    return f"Hello, {ctx.elicit('Who?', NAME, key='who').content['name']}"

@server.tool(task="optional", defer_task=True)
async def deferred(ctx: Context, long: bool = False) -> str | InputRequired:
    if "who" not in ctx.input_responses:
        return InputRequired({"who": elicit("Who?", NAME)})
    if long:
        await ctx.start_task()
        await ctx.start_task()
        await asyncio.sleep(0.02)
    return f"Hello, {ctx.input_responses['who']['content']['name']}"

@server.tool(task="optional", defer_task=True)
def deferred_in_thread(ctx: SyncContext) -> str:
    ctx.start_task()
    return "done"

server.run()
"""

EXTENSION: dict[str, Any] = {"io.modelcontextprotocol/tasks": {}}
FINAL = ("completed", "failed", "cancelled")


def ada(method: str, params: dict[str, Any]) -> dict[str, Any]:
    assert (method, params["message"]) == ("elicitation/create", "Who?")
    return {"action": "accept", "content": {"name": "Ada"}}


def peer(folder: Path, revision: str, **capabilities: Any) -> Peer:
    return Peer(script(folder, TASKS), revision, capabilities={"elicitation": {}, **capabilities}, answer=ada)


def until(client: Peer, task: str, *wanted: str) -> dict[str, Any]:
    """The task when its status is one of those."""
    end = time.monotonic() + TIMEOUT
    while (told := client.once("tasks/get", taskId=task))["status"] not in wanted:
        assert time.monotonic() < end, told
        time.sleep(0.02)
    return told


def until_step(client: Peer, step: str) -> None:
    end = time.monotonic() + TIMEOUT
    while step not in client.call("all_steps"):
        assert time.monotonic() < end, f"{step} does not come"
        time.sleep(0.02)


def refusal(client: Peer, method: str, **params: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        client.request(method, **params)
    return refused.value


@pytest.fixture
def legacy(tmp_path: Path) -> Iterator[Peer]:
    with peer(tmp_path, "2025-11-25") as client:
        yield client


@pytest.fixture
def modern(tmp_path: Path) -> Iterator[Peer]:
    with peer(tmp_path, MODERN, extensions=EXTENSION) as client:
        yield client


def begin(client: Peer, tool: str, **arguments: Any) -> dict[str, Any]:
    """The task that a call has become."""
    if client.modern:
        result = client.request("tools/call", name=tool, arguments=arguments)
        assert result["resultType"] == "task"
        return result
    return client.once("tools/call", name=tool, arguments=arguments, task={})["task"]


def test_tsk_01_task_support_is_declared(legacy: Peer) -> None:
    assert legacy.server["capabilities"]["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    support = {tool["name"]: tool["execution"]["taskSupport"] for tool in legacy.once("tools/list")["tools"]}
    assert [support[name] for name in ("slow", "endless", "all_steps")] == ["optional", "required", "forbidden"]


def test_tsk_05_tsk_07_forbidden_and_required_tasks(legacy: Peer) -> None:
    assert refusal(legacy, "tools/call", name="all_steps", task={}).code == -32601
    assert refusal(legacy, "tools/call", name="endless").code == -32601


@pytest.mark.parametrize("tool", ["slow", "slow_in_thread"])
def test_tsk_10_tsk_12_tsk_21_tsk_24_a_task_its_message_and_its_result(legacy: Peer, tool: str) -> None:
    task = begin(legacy, tool)
    assert (task["status"], task["ttl"], task["pollInterval"]) == ("working", 90_000, 50)
    assert legacy.once("tasks/result", taskId=task["taskId"])["content"][0]["text"] == "done"
    assert until(legacy, task["taskId"], *FINAL)["statusMessage"] == "half of it is done"
    assert legacy.call(tool) == "done"


def test_tsk_21_tsk_22_failures_of_tasks(legacy: Peer) -> None:
    failed = begin(legacy, "fails")["taskId"]
    result = legacy.once("tasks/result", taskId=failed)
    assert (result["isError"], result["content"][0]["text"]) == (True, "it failed")
    assert until(legacy, failed, *FINAL)["status"] == "failed"
    refused = refusal(legacy, "tasks/result", taskId=begin(legacy, "breaks")["taskId"])
    assert (refused.code, refused.message, refused.data) == (-32000, "it broke", {"a": 1})


@pytest.mark.parametrize("tool", ["asks", "asks_in_thread"])
def test_tsk_14_a_task_asks_the_client(legacy: Peer, tool: str) -> None:
    task = begin(legacy, tool)["taskId"]
    assert legacy.once("tasks/result", taskId=task)["content"][0]["text"] == "Hello, Ada"


def test_tsk_30_a_cancelled_task_cancels_its_handler(legacy: Peer) -> None:
    for tool, which in (("endless", "1"), ("endless_in_thread", "2")):
        task = begin(legacy, tool)["taskId"]
        until_step(legacy, f"begun {which}")
        assert legacy.once("tasks/cancel", taskId=task)["status"] == "cancelled"
        until_step(legacy, f"stopped {which}")


def test_tsk_35_the_number_of_tasks_is_limited(legacy: Peer) -> None:
    for _ in range(3):
        begin(legacy, "endless")
    assert "too many tasks" in refusal(legacy, "tools/call", name="endless", task={}).message


@pytest.mark.parametrize("tool", ["slow", "slow_in_thread"])
def test_tkx_01_tkx_10_a_task_that_contains_its_result(modern: Peer, tool: str) -> None:
    assert modern.once("server/discover")["capabilities"]["extensions"] == EXTENSION
    task = begin(modern, tool)
    assert (task["status"], task["ttlMs"], task["pollIntervalMs"]) == ("working", 90_000, 50)
    done = until(modern, task["taskId"], *FINAL)
    assert (done["status"], done["statusMessage"]) == ("completed", "half of it is done")
    assert done["result"]["content"][0]["text"] == "done"


def test_tkx_11_a_tool_that_failed_has_completed_and_a_json_rpc_error_has_not(modern: Peer) -> None:
    failed = until(modern, begin(modern, "fails")["taskId"], *FINAL)
    assert (failed["status"], failed["result"]["isError"]) == ("completed", True)
    broken = until(modern, begin(modern, "breaks")["taskId"], *FINAL)
    assert (broken["status"], broken["error"]) == ("failed", {"code": -32000, "message": "it broke", "data": {"a": 1}})


@pytest.mark.parametrize("tool", ["asks", "asks_in_thread"])
def test_tkx_10_tkx_17_a_task_waits_for_input_which_arrives_in_an_update(modern: Peer, tool: str) -> None:
    task = begin(modern, tool)["taskId"]
    asked = until(modern, task, "input_required")["inputRequests"]
    answers = {key: ada(one["method"], one["params"]) for key, one in asked.items()}
    modern.once("tasks/update", taskId=task, inputResponses=answers)
    assert until(modern, task, *FINAL)["result"]["content"][0]["text"] == "Hello, Ada"


def test_tkx_09_a_deferred_task_begins_as_a_call_and_becomes_a_task_only_if_it_says_so(modern: Peer) -> None:
    task = begin(modern, "deferred", long=True)["taskId"]
    assert len(modern.rounds) == 1
    assert until(modern, task, *FINAL)["result"]["content"][0]["text"] == "Hello, Ada"
    assert modern.call("deferred") == "Hello, Ada"
    task = begin(modern, "deferred_in_thread")["taskId"]
    assert until(modern, task, *FINAL)["result"]["content"][0]["text"] == "done"


def test_tkx_17_a_cancelled_task_cancels_its_handler_here_too(modern: Peer) -> None:
    for tool, which in (("endless", "1"), ("endless_in_thread", "2")):
        task = begin(modern, tool)["taskId"]
        until_step(modern, f"begun {which}")
        modern.once("tasks/cancel", taskId=task)
        assert until(modern, task, *FINAL)["status"] == "cancelled"
        until_step(modern, f"stopped {which}")


def test_tkx_02_tkx_05_clients_without_the_extension_get_results_or_the_missing_capability(tmp_path: Path) -> None:
    with peer(tmp_path, MODERN) as client:
        assert client.call("slow") == "done"
        assert client.call("deferred", long=True) == "Hello, Ada"
        refused = refusal(client, "tools/call", name="endless")
        assert (refused.code, refused.data) == (-32021, {"requiredCapabilities": {"extensions": EXTENSION}})


@pytest.mark.parametrize("revision", [revision for revision in REVISIONS if revision < "2025-11-25"])
def test_task_messages_of_a_handler_have_no_effect_without_tasks(tmp_path: Path, revision: str) -> None:
    with peer(tmp_path, revision) as client:
        assert client.call("slow") == client.call("deferred_in_thread") == "done"
        assert all("execution" not in tool for tool in client.once("tools/list")["tools"])


def test_restart_task_needs_a_tool_whose_calls_are_tasks_from_the_start() -> None:
    def render() -> str:
        return "done"

    server = Server("films", version="1.0.0")
    for register in (
        server.tool(restart_task=True),
        server.tool(restart_task=True, task="optional", defer_task=True),
    ):
        with pytest.raises(InvalidArgumentError, match="Tool render: restarting tasks: needs"):
            register(render)


def test_unknown_values_for_task_support_are_refused() -> None:
    server = Server("wrong", version="1")
    wrong = re.escape('task: must be "forbidden" or "optional" or "required", not "sometimes"')
    with pytest.raises(InvalidArgumentError, match=f"^{wrong}$"):
        server.add_tool(lambda: "", name="some", task="sometimes")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="task_ttl must be a number of seconds"):
        Server("wrong", version="1", task_ttl=-1)
